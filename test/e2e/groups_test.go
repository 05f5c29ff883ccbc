// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	local "mapcontroller.dev/snapshotschedule/test/internal/cluster"
)

// grouped takes one snapshot of all PVCs with app=db together.
var grouped = v1alpha1.SnapshotScheduleSpec{
	SnapshotInterval: "1h",
	Selector:         v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"app": "db"}},
	Group:            &v1alpha1.Group{},
}

// groupSnapshots lists the VolumeGroupSnapshots of a namespace.
func groupSnapshots(ctx context.Context, namespace string) []groupv1.VolumeGroupSnapshot {
	GinkgoHelper()
	all := &groupv1.VolumeGroupSnapshotList{}
	Expect(cluster.Client.List(ctx, all, client.InNamespace(namespace))).To(Succeed())
	slices.SortFunc(all.Items, func(a, b groupv1.VolumeGroupSnapshot) int { return strings.Compare(a.Name, b.Name) })
	return all.Items
}

// groups returns a function for Eventually that lists VolumeGroupSnapshots.
func groups(ctx context.Context, namespace string) func() []groupv1.VolumeGroupSnapshot {
	return func() []groupv1.VolumeGroupSnapshot { return groupSnapshots(ctx, namespace) }
}

var beReadyGroup = HaveField("Status", And(Not(BeNil()), HaveField("ReadyToUse", HaveValue(BeTrue()))))

// held returns the PVCs of the members of a group snapshot that the operator has labeled and that are ready.
func held(ctx context.Context, namespace string, group string) func() []string {
	return func() (claims []string) {
		for _, v := range cluster.Snapshots(ctx, namespace) {
			if v.Labels[v1alpha1.LabelGroupSnapshot] == group && ready(&v) && v.DeletionTimestamp == nil {
				claims = append(claims, ptr.Deref(v.Spec.Source.PersistentVolumeClaimName, ""))
			}
		}
		slices.Sort(claims)
		return claims
	}
}

// haveGroupProblem matches a schedule with a problem of its group, and Ready False because of it.
func haveGroupProblem(reason, message string) gomegatypes.GomegaMatcher {
	return And(
		HaveField("Status.Problems", ContainElement(And(
			HaveField("Group", "nightly"), HaveField("Reason", reason), HaveField("Message", ContainSubstring(message))))),
		beReadyWith(metav1.ConditionFalse, v1alpha1.ReasonSnapshotsFailing))
}

// hasGroups returns whether the cluster's release of external-snapshotter has version v1 of group snapshots.
func hasGroups() bool {
	GinkgoHelper()
	_, err := cluster.Kube.Discovery().ServerResourcesForGroupVersion(groupv1.SchemeGroupVersion.String())
	Expect(client.IgnoreNotFound(err)).To(Succeed())
	return err == nil
}

// Most of what these specs wait for takes a minute: all of it begins at once.
var _ = Describe("groups of PVCs", Ordered, func() {
	const claims = 2
	var oldest groupv1.VolumeGroupSnapshot
	namespaces, schedules := map[string]string{}, map[string]*v1alpha1.SnapshotSchedule{}
	start := func(ctx context.Context, name string, spec v1alpha1.SnapshotScheduleSpec, changes ...func(namespace string, all []*corev1.PersistentVolumeClaim)) {
		GinkgoHelper()
		namespace := cluster.Namespace(ctx, "group-"+name)
		all := cluster.BoundClaims(ctx, namespace, claims)
		for _, change := range changes {
			change(namespace, all)
		}
		namespaces[name], schedules[name] = namespace, cluster.Schedule(ctx, namespace, spec)
	}
	with := func(change func(*v1alpha1.SnapshotScheduleSpec)) v1alpha1.SnapshotScheduleSpec {
		spec := *grouped.DeepCopy()
		change(&spec)
		return spec
	}
	behave := func(b local.Behavior) func(string, []*corev1.PersistentVolumeClaim) {
		return func(namespace string, _ []*corev1.PersistentVolumeClaim) { cluster.Behave(namespace, b) }
	}
	refuse := func(code, message string) local.Behavior {
		return local.Behavior{Refusals: []local.Refusal{{Call: "CreateVolumeGroupSnapshot", Code: code, Message: message}}}
	}
	impatient := with(func(s *v1alpha1.SnapshotScheduleSpec) { s.ReadyDeadline = "2s" })

	BeforeAll(func(ctx context.Context) {
		if !hasGroups() {
			Skip("this release of external-snapshotter has no version v1 of group snapshots")
		}
		cluster.Start(ctx)
		start(ctx, "kept", with(func(s *v1alpha1.SnapshotScheduleSpec) { s.Retention.MaxCount = ptr.To(int32(1)) }))
		start(ctx, "short", grouped, behave(local.Behavior{LeaveOut: 1}))
		start(ctx, "refused", impatient, behave(refuse("FAILED_PRECONDITION", "the volumes cannot be snapshotted together")))
		start(ctx, "unsupported", impatient, behave(refuse("UNIMPLEMENTED", "unknown service csi.v1.GroupController")))
		class := create(ctx, &groupv1.VolumeGroupSnapshotClass{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "retained-"}, Driver: mockDriver, DeletionPolicy: "Retain",
		})
		start(ctx, "retained", with(func(s *v1alpha1.SnapshotScheduleSpec) { s.Group.VolumeGroupSnapshotClassName = &class.Name }))
		start(ctx, "stuck", grouped)
		start(ctx, "slow", grouped, behave(local.Behavior{Upload: "20s"}))
		start(ctx, "mismatch", grouped, func(_ string, all []*corev1.PersistentVolumeClaim) {
			merge(ctx, all[0], `{"metadata":{"annotations":{%q:""}}}`, v1alpha1.AnnotationExclude)
		})
		start(ctx, "deleted", grouped)
		start(ctx, "member", grouped)
		start(ctx, "orphan", grouped)
		start(ctx, "gone", grouped, behave(refuse("UNAVAILABLE", "not now")))
		start(ctx, "switched", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "1h", Selector: grouped.Selector})
		start(ctx, "silent", impatient, behave(local.Behavior{Delay: "30s"})) // last: the first spec is about it, before the driver answers
	})

	// So it is without the feature gate or the CRDs of the sidecar, too. First, because the driver answers at last.
	//
	// Contract: GRP-5.
	It("are reported if nobody says anything", func(ctx context.Context) {
		Eventually(fresh(ctx, schedules["silent"])).WithContext(ctx).Should(haveGroupProblem(v1alpha1.ReasonSnapshotFailed, "VolumeGroupSnapshot"))
		Expect(groupSnapshots(ctx, namespaces["silent"])).To(HaveExactElements(HaveField("Status", Or(BeNil(), HaveField("CreationTime", BeNil())))))
	})

	// Contract: GRP-1, GRP-2, GRP-3.
	It("are cut together, with a record of their PVCs, and members that never carry a map key", func(ctx context.Context) {
		namespace, schedule := namespaces["kept"], schedules["kept"]
		Eventually(groups(ctx, namespace)).WithContext(ctx).Should(ConsistOf(beReadyGroup))
		group := groupSnapshots(ctx, namespace)[0]
		Eventually(held(ctx, namespace, group.Name)).WithContext(ctx).Should(Equal([]string{"data-0", "data-1"}))
		Expect(metav1.IsControlledBy(&group, schedule)).To(BeTrue())
		Expect(group.Spec.Source.Selector.MatchLabels).To(Equal(map[string]string{"app": "db"}))
		for _, member := range cluster.Snapshots(ctx, namespace) {
			Expect(member.Labels).NotTo(HaveKey(v1alpha1.LabelMapKey))
			Expect(group.Annotations[v1alpha1.AnnotationClaims]).To(ContainSubstring(*member.Spec.Source.PersistentVolumeClaimName))
		}
		Eventually(fresh(ctx, schedule)).WithContext(ctx).Should(And(
			beReadyWith(metav1.ConditionTrue, v1alpha1.ReasonScheduled), beProtected(metav1.ConditionTrue),
			HaveField("Finalizers", ContainElement(v1alpha1.FinalizerRelease)),
			HaveField("Status.Outputs.VolumeGroupSnapshots", HaveValue(Equal(v1alpha1.OutputCount{Total: 1, Ready: 1})))))
		oldest = group
		request(ctx, schedule) // for the last spec
		Eventually(groups(ctx, namespace)).WithContext(ctx).Should(HaveLen(2))
	})

	// The deletion of a schedule does not wait for its garbage collector only.
	//
	// Contract: GRP-10.
	It("keep their schedule until the youngest is a minute old, and leave nothing in the storage", func(ctx context.Context) {
		namespace, schedule := namespaces["deleted"], schedules["deleted"]
		Eventually(groups(ctx, namespace)).WithContext(ctx).Should(ConsistOf(beReadyGroup))
		group := groupSnapshots(ctx, namespace)[0]
		Expect(cluster.Client.Delete(ctx, schedule)).To(Succeed())
		exists(ctx, schedule, group.CreationTimestamp.Add(time.Minute))
		eventuallyGone(ctx, schedule)
		eventuallyGone(ctx, &group)
		Eventually(groupsInStorage(ctx, group)).WithContext(ctx).WithTimeout(time.Minute).Should(BeEmpty())
	})

	// Contract: GRP-4.
	It("are not taken while their labels match a PVC that is not selected", func(ctx context.Context) {
		Eventually(fresh(ctx, schedules["mismatch"])).WithContext(ctx).Should(haveGroupProblem(v1alpha1.ReasonGroupMismatch, "data-0"))
		Expect(groupSnapshots(ctx, namespaces["mismatch"])).To(BeEmpty())
		Expect(cluster.Snapshots(ctx, namespaces["mismatch"])).To(BeEmpty())
	})

	DescribeTable("report what the driver says", func(ctx context.Context, name, message string) {
		Eventually(fresh(ctx, schedules[name])).WithContext(ctx).Should(And(
			haveGroupProblem(v1alpha1.ReasonSnapshotError, message), haveGroupProblem(v1alpha1.ReasonSnapshotFailed, "VolumeGroupSnapshot")))
		Expect(groupSnapshots(ctx, namespaces[name])).To(HaveLen(1))
	},
		// Contract: GRP-5.
		Entry("if it refuses", "refused", "the volumes cannot be snapshotted together"),
		Entry("if it has no group snapshots", "unsupported", "unknown service"),
	)

	// The sidecar looks at a member that was not ready with its group at its next resync only.
	//
	// Contract: GRP-5.
	It("do not count before their members are ready", func(ctx context.Context) {
		namespace := namespaces["slow"]
		Eventually(groups(ctx, namespace)).WithContext(ctx).WithTimeout(time.Minute).Should(ConsistOf(beReadyGroup))
		schedule, group := get(ctx, schedules["slow"]), groupSnapshots(ctx, namespace)[0].Name
		if len(held(ctx, namespace, group)()) < claims { // the resync, which comes at some time in 15 minutes, has not made them ready
			Expect(schedule).To(beProtected(metav1.ConditionUnknown))
		}
		for _, member := range cluster.Snapshots(ctx, namespace) {
			content := &snapshotv1.VolumeSnapshotContent{ObjectMeta: metav1.ObjectMeta{Name: *member.Status.BoundVolumeSnapshotContentName}}
			merge(ctx, content, `{"metadata":{"annotations":{"e2e/touched":""}}}`)
		}
		Eventually(held(ctx, namespace, group)).WithContext(ctx).Should(HaveLen(claims))
		Eventually(fresh(ctx, schedules["slow"])).WithContext(ctx).Should(beProtected(metav1.ConditionTrue))
	})

	// Upstream calls it ready: tried.
	//
	// Contract: GRP-6.
	It("are reported if the driver leaves a PVC out", func(ctx context.Context) {
		Eventually(fresh(ctx, schedules["short"])).WithContext(ctx).WithTimeout(2 * time.Minute).
			Should(haveGroupProblem(v1alpha1.ReasonGroupIncomplete, "holds no data of data-"))
	})

	// Contract: GRP-6.
	It("do not count for a PVC whose member somebody deleted", func(ctx context.Context) {
		namespace, schedule := namespaces["member"], schedules["member"]
		Eventually(groups(ctx, namespace)).WithContext(ctx).Should(ConsistOf(beReadyGroup))
		group := groupSnapshots(ctx, namespace)[0]
		Eventually(held(ctx, namespace, group.Name)).WithContext(ctx).Should(HaveLen(claims))
		member := cluster.Snapshots(ctx, namespace)[0]
		Expect(cluster.Client.Delete(ctx, &member)).To(Succeed())
		Eventually(fresh(ctx, schedule)).WithContext(ctx).Should(HaveField("Status.Problems", ContainElement(And(
			HaveField("Reason", v1alpha1.ReasonMemberDeleted), HaveField("Message", ContainSubstring(*member.Spec.Source.PersistentVolumeClaimName))))))
		Expect(held(ctx, namespace, group.Name)()).To(HaveLen(claims - 1))
	})

	// Contract: GRP-7.
	It("are not cut from another PVC of the name, if one is deleted before", func(ctx context.Context) {
		namespace := namespaces["gone"]
		Eventually(groups(ctx, namespace)).WithContext(ctx).Should(HaveLen(1))
		group := groupSnapshots(ctx, namespace)[0]
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "data-1"}}
		Expect(cluster.Client.Delete(ctx, claim)).To(Succeed())
		exists(ctx, &group, group.CreationTimestamp.Add(time.Minute))
		// While the driver does not answer, the snapshot controller keeps it.
		Eventually(fresh(ctx, &group)).WithContext(ctx).Should(HaveField("DeletionTimestamp", Not(BeNil())))
	})

	// Contract: GRP-10, OWN-6.
	It("outlive a schedule with deletionPolicy Orphan, and are adopted by the next one", func(ctx context.Context) {
		namespace, schedule := namespaces["orphan"], schedules["orphan"]
		Eventually(groups(ctx, namespace)).WithContext(ctx).Should(ConsistOf(beReadyGroup))
		merge(ctx, schedule, `{"spec":{"deletionPolicy":"Orphan"}}`)
		Eventually(groups(ctx, namespace)).WithContext(ctx).Should(ConsistOf(HaveField("OwnerReferences", BeEmpty())))
		Eventually(fresh(ctx, schedule)).WithContext(ctx).Should(HaveField("Status.ObservedGeneration", BeEquivalentTo(2)))
		Expect(cluster.Client.Delete(ctx, schedule)).To(Succeed())
		eventuallyGone(ctx, schedule)
		next := cluster.Schedule(ctx, namespace, with(func(s *v1alpha1.SnapshotScheduleSpec) { s.Suspend = true }))
		Eventually(groups(ctx, namespace)).WithContext(ctx).Should(ConsistOf(HaveField("OwnerReferences", ConsistOf(HaveField("UID", next.UID)))))
	})

	// Contract: GRP-11.
	It("leave the snapshots of single PVCs from before, one of each PVC", func(ctx context.Context) {
		namespace, schedule := namespaces["switched"], schedules["switched"]
		before := names(eventuallySnapshots(ctx, namespace, claims))
		merge(ctx, schedule, `{"spec":{"snapshotTTL":"1s","group":{}}}`)
		request(ctx, schedule) // the slot is older than the TTL
		Eventually(groups(ctx, namespace)).WithContext(ctx).Should(ConsistOf(beReadyGroup))
		Eventually(fresh(ctx, schedule)).WithContext(ctx).Should(And(
			HaveField("Status.Detached", HaveValue(HaveField("VolumeSnapshots", BeEquivalentTo(claims))))))
		Expect(names(cluster.Snapshots(ctx, namespace))).To(ContainElements(before))
	})

	// Contract: GRP-5, GRP-10.
	It("leave their data in the storage if their class says so", func(ctx context.Context) {
		namespace, schedule := namespaces["retained"], schedules["retained"]
		Eventually(groups(ctx, namespace)).WithContext(ctx).Should(ConsistOf(beReadyGroup))
		group := groupSnapshots(ctx, namespace)[0]
		Expect(cluster.Client.Delete(ctx, schedule)).To(Succeed())
		eventuallyGone(ctx, &group)
		content := &groupv1.VolumeGroupSnapshotContent{ObjectMeta: metav1.ObjectMeta{Name: *group.Status.BoundVolumeGroupSnapshotContentName}}
		Expect(cluster.Client.Get(ctx, client.ObjectKeyFromObject(content), content)).To(Succeed())
		Expect(groupsInStorage(ctx, group)()).NotTo(BeEmpty())
		merge(ctx, content, `{"spec":{"deletionPolicy":"Delete"}}`)
		Expect(cluster.Client.Delete(ctx, content)).To(Succeed())
	})

	// Contract: GRP-6.
	It("count for nothing while they cannot end", func(ctx context.Context) {
		namespace, schedule := namespaces["stuck"], schedules["stuck"]
		Eventually(groups(ctx, namespace)).WithContext(ctx).Should(ConsistOf(beReadyGroup))
		group := groupSnapshots(ctx, namespace)[0]
		Eventually(fresh(ctx, schedule)).WithContext(ctx).Should(beProtected(metav1.ConditionTrue))
		exists(ctx, &group, group.CreationTimestamp.Add(time.Minute))
		cluster.PausePart("snapshot-controller") // upstream may need minutes to go on: tried
		Expect(cluster.Client.Delete(ctx, &group)).To(Succeed())
		Eventually(fresh(ctx, schedule)).WithContext(ctx).Should(Not(beProtected(metav1.ConditionTrue)))
		Expect(groupSnapshots(ctx, namespace)).To(ContainElement(HaveField("UID", group.UID)))
	})

	// Contract: GRP-9, GRP-10.
	It("expire as a whole, not before they are a minute old, and leave nothing in the storage", func(ctx context.Context) {
		namespace := namespaces["kept"]
		eventuallyGone(ctx, &oldest) // the operator's log says when: no confirmation allows it earlier
		Eventually(groupsInStorage(ctx, oldest)).WithContext(ctx).WithTimeout(time.Minute).Should(BeEmpty())
		for _, r := range cluster.Since(suiteStart).In(namespace).Of("volumegroupsnapshots", "delete") {
			Expect(r.Time).To(BeTemporally(">=", oldest.CreationTimestamp.Add(time.Minute)))
		}
		left := groupSnapshots(ctx, namespace)
		Expect(left).To(ConsistOf(beReadyGroup))
		Expect(held(ctx, namespace, left[0].Name)()).To(HaveLen(claims))
	})
})

// exists expects an object to exist until a time. What is answered later says nothing.
func exists(ctx context.Context, o client.Object, until time.Time) {
	GinkgoHelper()
	Consistently(func() bool {
		return cluster.Client.Get(ctx, client.ObjectKeyFromObject(o), o) == nil || time.Now().After(until)
	}).WithContext(ctx).
		WithTimeout(max(time.Until(until), time.Millisecond)).WithPolling(time.Second).Should(BeTrue(), "%s should exist until %s", o.GetName(), until)
}

// groupsInStorage returns what is left of a group snapshot: contents, and what the driver holds.
func groupsInStorage(ctx context.Context, group groupv1.VolumeGroupSnapshot) func() []string {
	return func() (left []string) {
		contents := &groupv1.VolumeGroupSnapshotContentList{}
		Expect(cluster.Client.List(ctx, contents)).To(Succeed())
		for _, c := range contents.Items {
			if c.Spec.VolumeGroupSnapshotRef.UID == group.UID {
				left = append(left, c.Name)
			}
		}
		for id := range cluster.Storage().Groups {
			if strings.HasSuffix(id, string(group.UID)) {
				left = append(left, fmt.Sprint("in the storage: ", id))
			}
		}
		return left
	}
}
