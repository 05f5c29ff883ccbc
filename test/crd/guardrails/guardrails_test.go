// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package guardrails

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/internal/suite"
)

const (
	allowed, refused = "allowed", "refused"

	garbageCollector    = "system:serviceaccount:kube-system:generic-garbage-collector"
	namespaceController = "system:serviceaccount:kube-system:namespace-controller"
)

// deletion is a row of the table in docs/contribute/guardrails.md: who deletes an object, how, and in which state.
type deletion struct {
	// user is jane unless it is set.
	user string
	// propagation is the propagation policy of the request.
	propagation metav1.DeletionPropagation
	// prepare changes the object beforehand.
	prepare func(client.Object)
	// behind is the number of generations that the operator has not observed yet.
	behind int64
	// snapshots is the number of snapshots that status counts. A ClusterSnapshotSchedule's counts none at all below zero.
	snapshots int32
	// groups is the number of group snapshots that status counts.
	groups int32
	// ready is the status and reason of the condition Ready: True Scheduled unless it is set; a dash: there is none.
	ready string
	// schedule and crd say whether it is allowed. crd is a dash where the row does not apply to a CRD.
	schedule, crd string
}

func deletions() map[string]deletion {
	const background, foreground = metav1.DeletePropagationBackground, metav1.DeletePropagationForeground
	return map[string]deletion{
		"with `--cascade=background`, the default of kubectl": {propagation: background, snapshots: 1, schedule: refused, crd: refused},
		"without a propagation policy":                        {snapshots: 1, schedule: refused, crd: refused},
		"with `--cascade=foreground`":                         {propagation: foreground, snapshots: 1, schedule: refused, crd: refused},
		"with `--cascade=orphan`": {
			propagation: metav1.DeletePropagationOrphan, snapshots: 1, schedule: allowed, crd: refused},
		"with the annotation `allow-deletion: \"true\"`": {prepare: annotate("true"), snapshots: 1, schedule: allowed, crd: allowed},
		"with the annotation, but another value":         {prepare: annotate("yes"), snapshots: 1, schedule: refused, crd: refused},
		"with `deletionPolicy: Orphan`":                  {prepare: edit(`{"deletionPolicy":"Orphan"}`), snapshots: 1, schedule: allowed, crd: "-"},
		"with `deletionPolicy: Orphan` that is not yet observed": {
			prepare: edit(`{"deletionPolicy":"Orphan"}`), behind: 1, snapshots: 1, schedule: refused, crd: "-"},
		"with `deletionPolicy: Orphan` and the finalizer `release`": {
			prepare: func(o client.Object) {
				patch(o, fmt.Sprintf(`{"metadata":{"finalizers":[%q]},"spec":{"deletionPolicy":"Orphan"}}`, v1alpha1.FinalizerRelease))
			}, snapshots: 1, schedule: refused, crd: "-"},
		"while status counts no snapshots":          {schedule: allowed, crd: "-"},
		"while status counts group snapshots alone": {groups: 1, schedule: refused, crd: "-"},
		"while status counts no snapshots, and says nothing of group snapshots, which the schedule takes": {
			prepare: edit(`{"group":{"byLabel":"app"}}`), schedule: refused, crd: "-"},
		"while status counts no snapshots, but is of an earlier generation": {
			prepare: edit(`{"selector":{"matchLabels":{"app":"shop"}}}`), behind: 1, schedule: refused, crd: "-"},
		"while status counts no snapshots, and the spec is invalid": {ready: "False InvalidSpec", schedule: allowed, crd: "-"},
		"while status counts no snapshots, and the VolumeSnapshot CRD is not installed": {
			ready: "False " + v1alpha1.ReasonSnapshotAPIMissing, schedule: refused, crd: "-"},
		"before the operator has reconciled every PVC": {ready: "Unknown " + v1alpha1.ReasonReconciling, schedule: refused, crd: "-"},
		"while the condition `Ready` is unknown":       {ready: "Unknown Scheduled", schedule: refused, crd: "-"},
		"before the operator has observed it":          {behind: 1, schedule: refused, crd: "-"},
		"in a namespace that is being deleted":         {prepare: deleteNamespace, snapshots: 1, schedule: allowed, crd: "-"},
		"by the garbage collector":                     {user: garbageCollector, snapshots: 1, schedule: allowed, crd: refused},
		"by the namespace controller":                  {user: namespaceController, snapshots: 1, schedule: allowed, crd: refused},
		"by `system:kube-controller-manager`":          {user: "system:kube-controller-manager", snapshots: 1, schedule: allowed, crd: refused},
	}
}

func annotate(value string) func(client.Object) {
	return func(o client.Object) {
		patch(o, fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, v1alpha1.AnnotationAllowDeletion, value))
	}
}

func edit(spec string) func(client.Object) {
	return func(o client.Object) { patch(o, `{"spec":`+spec+`}`) }
}

func patch(o client.Object, text string) {
	GinkgoHelper()
	Expect(api.Patch(ctx, o, client.RawPatch(types.MergePatchType, []byte(text)))).To(Succeed())
}

// deleteNamespace leaves the namespace terminating, because no namespace controller runs here. The API server reads namespaces from a
// cache.
func deleteNamespace(o client.Object) {
	GinkgoHelper()
	Expect(api.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: o.GetNamespace()}})).To(Succeed())
	Eventually(func() error { return api.Delete(ctx, o, client.DryRunAll) }).Should(Succeed())
}

// create stores a schedule in a namespace of its own, in the state of the row.
func (d deletion) create() *v1alpha1.SnapshotSchedule {
	GinkgoHelper()
	s := newSchedule(newNamespace())
	Expect(api.Create(ctx, s)).To(Succeed())
	if d.prepare != nil {
		d.prepare(s)
	}
	if observed := s.Generation - d.behind; observed > 0 {
		before := s.DeepCopy()
		before.Status = v1alpha1.SnapshotScheduleStatus{} // the patch has every field
		s.Status.ObservedGeneration, s.Status.Outputs.VolumeSnapshots.Total = observed, d.snapshots
		if d.groups > 0 {
			s.Status.Outputs.VolumeGroupSnapshots = &v1alpha1.OutputCount{Total: d.groups}
		}
		s.Status.Conditions = d.conditions()
		Expect(api.Status().Patch(ctx, s, client.MergeFrom(before))).To(Succeed())
	}
	return s
}

// conditions are those of the status.
func (d deletion) conditions() []metav1.Condition {
	status, reason, _ := strings.Cut(cmp.Or(d.ready, "True Scheduled"), " ")
	all := []metav1.Condition{
		{Type: v1alpha1.ConditionStalled, Status: "False", Reason: v1alpha1.ReasonValidSpec, LastTransitionTime: metav1.Now()},
		{Type: v1alpha1.ConditionReady, Status: metav1.ConditionStatus(status), Reason: reason, LastTransitionTime: metav1.Now()},
	}
	if d.ready == "-" {
		return all[:1]
	}
	return all
}

// one deletes an object by its name.
func (d deletion) one(o client.Object, options ...client.DeleteOption) error {
	if d.propagation != "" {
		options = append(options, client.PropagationPolicy(d.propagation))
	}
	return as(cmp.Or(d.user, jane)).Delete(ctx, o, options...)
}

// collection deletes all objects of a kind, in a dry run.
func (d deletion) collection(o client.Object, options ...client.DeleteAllOfOption) error {
	if d.propagation != "" {
		options = append(options, client.PropagationPolicy(d.propagation))
	}
	return as(cmp.Or(d.user, jane)).DeleteAllOf(ctx, o, append(options, client.DryRunAll)...)
}

// expect compares the answer to a deletion.
func expect(want string, err error, name string) {
	GinkgoHelper()
	expectAnswer(want, err, "deleting ", name)
}

// expectAnswer compares the answer to a request. A refusal names what was refused, the object and a way out.
func expectAnswer(want string, err error, action, name string) {
	GinkgoHelper()
	if want == allowed {
		Expect(err).NotTo(HaveOccurred())
		return
	}
	Expect(want).To(Equal(refused))
	Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%v", err)
	Expect(err).To(MatchError(And(ContainSubstring(action), ContainSubstring(" "+name+" "),
		ContainSubstring(v1alpha1.AnnotationAllowDeletion+`: "true"`))))
}

// allCases is the page with a row for every case.
const allCases = "docs/contribute/guardrails.md"

// documented returns the cells of the rows of a page that match.
func documented(path, row string) map[string][]string {
	GinkgoHelper()
	page := string(suite.Must(os.ReadFile(filepath.Join(root, filepath.FromSlash(path)))))
	rows := map[string][]string{}
	for _, cells := range regexp.MustCompile(row).FindAllStringSubmatch(page, -1) {
		rows[cells[1]] = cells[2:]
	}
	return rows
}

func isDeleted(o client.Object) bool {
	GinkgoHelper()
	err := api.Get(ctx, client.ObjectKeyFromObject(o), o)
	Expect(client.IgnoreNotFound(err)).To(Succeed())
	return err != nil || o.GetDeletionTimestamp() != nil
}

var _ = Describe("config/guardrails", func() {
	entries := func(of func(deletion) bool) (all []TableEntry) {
		for name, d := range deletions() {
			if of(d) {
				all = append(all, Entry(name, d))
			}
		}
		return all
	}

	DescribeTable("decides about the deletion of a schedule", func(d deletion) {
		s := d.create()
		expect(d.schedule, d.collection(&v1alpha1.SnapshotSchedule{}, client.InNamespace(s.Namespace)), s.Name)
		expect(d.schedule, d.one(s), s.Name)
		Expect(isDeleted(s)).To(Equal(d.schedule == allowed))
	}, entries(func(deletion) bool { return true }))

	It("decides about each schedule of a collection by itself", func() {
		kept := deletion{snapshots: 1}.create()
		empty := newSchedule(kept.Namespace)
		Expect(api.Create(ctx, empty)).To(Succeed())
		annotate("true")(empty)
		expect(refused, api.DeleteAllOf(ctx, &v1alpha1.SnapshotSchedule{}, client.InNamespace(kept.Namespace)), kept.Name)
		Expect(isDeleted(kept)).To(BeFalse())
		Expect(api.Delete(ctx, empty)).To(Or(Succeed(), MatchError(apierrors.IsNotFound, "IsNotFound")))
	})

	// A dry run, because the suite needs the CRD.
	DescribeTable("decides about the deletion of the CRD, also in a collection", func(d deletion) {
		for _, name := range []string{scheduleCRD, fleetCRD} {
			crd := newCRD(name)
			if d.prepare != nil {
				d.prepare(crd)
				DeferCleanup(patch, crd, fmt.Sprintf(`{"metadata":{"annotations":{%q:null}}}`, v1alpha1.AnnotationAllowDeletion))
			}
			expect(d.crd, d.one(crd, client.DryRunAll), name)
			expect(d.crd, d.collection(newCRD(""), client.MatchingFields{"metadata.name": name}), name)
		}
		expect(d.crd, d.collection(newCRD("")), fleetCRD) // the first
	}, entries(func(d deletion) bool { return d.crd != "-" }))

	It("allows the deletion of any other CRD", func() {
		other := newCRD(otherCRD)
		Expect(api.DeleteAllOf(ctx, newCRD(""), client.MatchingFields{"metadata.name": otherCRD}, client.DryRunAll)).To(Succeed())
		Expect(api.Delete(ctx, other)).To(Succeed())
	})

	It("is described by the tables in "+allCases+" and, in part, docs/run/guardrails.md", func() {
		const row = `(?m)^\| (.+?) \| (allowed|refused) \| (allowed|refused|-) \|$`
		tested := map[string][]string{}
		for name, d := range deletions() {
			tested[name] = []string{d.schedule, d.crd}
		}
		Expect(documented(allCases, row)).To(Equal(tested))
		short := documented("docs/run/guardrails.md", row)
		Expect(len(short)).To(BeNumerically(">", 5))
		for name, cells := range short {
			Expect(tested).To(HaveKeyWithValue(name, cells))
		}
	})

	// Contract: STAT-12.
	It("refuses to delete a schedule whose status counts nothing at all", func() {
		s := newSchedule(newNamespace())
		Expect(api.Create(ctx, s)).To(Succeed())
		Expect(api.Status().Patch(ctx, s, client.RawPatch(types.MergePatchType, []byte(
			`{"status":{"observedGeneration":1,"conditions":[{"type":"Ready","status":"True","reason":"Scheduled","message":"","lastTransitionTime":"2026-01-02T03:04:05Z"}]}}`)))).To(Succeed())
		expect(refused, api.Delete(ctx, s), s.Name)
	})

	// Contract: STAT-12.
	DescribeTable("refuses to delete a schedule whose snapshots are not known to be counted", func(ready string) {
		s := deletion{ready: ready}.create()
		expect(refused, deletion{}.one(s), s.Name)
	}, Entry("by the reason alone", "False "+v1alpha1.ReasonReconciling), Entry("without the condition Ready", "-"))

	Describe("decides about owner references", Ordered, ownerReferences)
	Describe("decides about the deletion of a ClusterSnapshotSchedule", fleetDeletions)
	Describe("decides about the creation of a snapshot", Ordered, snapshotCreation)
	Describe("bounds what accounts of a namespace snapshot-ops change", snapshotOps)
	Describe("warns about the retention", Ordered, retentionWarnings)

	// The reason why a propagation policy does not allow the deletion of a CRD, as it does for a schedule. This spec is the last one,
	// because it deletes the CRD; and so all are in this container: Ginkgo shuffles containers.
	It("protects a CRD from --cascade=orphan, because its schedules would be deleted nevertheless", func() {
		s := deletion{snapshots: 1}.create()
		crd := newCRD(scheduleCRD)
		annotate("true")(crd)
		Expect(api.Delete(ctx, crd, client.PropagationPolicy(metav1.DeletePropagationOrphan))).To(Succeed())
		Eventually(func() bool { return apierrors.IsNotFound(api.Get(ctx, client.ObjectKeyFromObject(s), s)) }).Should(BeTrue())
	})
})
