// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/e2e/internal/harness"
	"mapcontroller.dev/snapshotschedule/test/internal/audit"
	"mapcontroller.dev/snapshotschedule/test/internal/builders"
)

type fleet = v1alpha1.ClusterSnapshotSchedule

// newFleet creates a ClusterSnapshotSchedule of hourly snapshots that selects the namespaces with the label backup=<its name>.
func newFleet(ctx context.Context, policy v1alpha1.DeletionPolicy) *fleet {
	f := &fleet{ObjectMeta: metav1.ObjectMeta{Name: "gold-" + string(uuid.NewUUID())}}
	f.Spec.NamespaceSelector.MatchLabels = map[string]v1alpha1.LabelValue{"backup": v1alpha1.LabelValue(f.Name)}
	f.Spec.Template.Spec = hourly
	f.Spec.Template.Spec.DeletionPolicy = policy
	Expect(cluster.Client.Create(ctx, f)).To(Succeed())
	DeferCleanup(func(ctx context.Context) { Expect(client.IgnoreNotFound(cluster.Client.Delete(ctx, f))).To(Succeed()) })
	return f
}

// fleetNamespace creates a namespace that a ClusterSnapshotSchedule selects.
func fleetNamespace(ctx context.Context, f *fleet) *corev1.Namespace {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "fleet-", Labels: map[string]string{"backup": f.Name}}}
	Expect(cluster.Client.Create(ctx, namespace)).To(Succeed())
	DeferCleanup(func(ctx context.Context) {
		Expect(client.IgnoreNotFound(cluster.Client.Delete(ctx, namespace))).To(Succeed())
	})
	return namespace
}

func merge(ctx context.Context, o client.Object, format string, args ...any) {
	GinkgoHelper()
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, format, args...))
	Expect(cluster.Client.Patch(ctx, o, patch)).To(Succeed())
}

func childOf(f *fleet, namespace string) *v1alpha1.SnapshotSchedule {
	return builders.Schedule(namespace, f.Name, v1alpha1.SnapshotScheduleSpec{})
}

// eventuallyChild waits for the child with a value of spec.suspend, observed by the operator.
func eventuallyChild(ctx context.Context, f *fleet, namespace string, suspended bool) *v1alpha1.SnapshotSchedule {
	child := childOf(f, namespace)
	EventuallyWithOffset(1, func(g Gomega) {
		g.Expect(cluster.Client.Get(ctx, client.ObjectKeyFromObject(child), child)).To(Succeed())
		g.Expect(child.Spec.Suspend).To(Equal(suspended))
		g.Expect(child.Status.ObservedGeneration).To(Equal(child.Generation))
	}).WithContext(ctx).Should(Succeed(), "the child should have suspend %t", suspended)
	return child
}

func eventuallyNoChild(ctx context.Context, f *fleet, namespace string) {
	child := childOf(f, namespace)
	EventuallyWithOffset(1, func() bool {
		return apierrors.IsNotFound(cluster.Client.Get(ctx, client.ObjectKeyFromObject(child), child))
	}).WithContext(ctx).Should(BeTrue(), "the child should be deleted")
}

var _ = Describe("a ClusterSnapshotSchedule", Ordered, func() {
	BeforeAll(func(ctx context.Context) { cluster.Start(ctx, "--status-interval=500ms") })

	// Contract: FLEET-1, FLEET-2, FLEET-4, FLEET-6.
	It("protects a namespace that is created on the spot, keeps its snapshots when it is relabeled, and resumes", func(ctx context.Context) {
		f := newFleet(ctx, v1alpha1.DeletionDelete)
		status := harness.Fresh(ctx, cluster, f)
		Eventually(status).WithContext(ctx).Should(beReadyWith(metav1.ConditionTrue, v1alpha1.ReasonNoMatchingNamespaces))

		object := fleetNamespace(ctx, f)
		namespace := object.Name
		eventuallyChild(ctx, f, namespace, false)
		cluster.BoundClaims(ctx, namespace, 2)
		before := eventuallySnapshots(ctx, namespace, 2)
		Eventually(status).WithContext(ctx).Should(And(beReadyWith(metav1.ConditionTrue, v1alpha1.ReasonScheduled),
			HaveField("Status.VolumeSnapshots", HaveValue(Equal(v1alpha1.OutputCount{Total: 2, Ready: 2})))))

		By("undoing a tenant's edit")
		merge(ctx, childOf(f, namespace), `{"spec":{"suspend":true,"retention":{"maxCount":1}}}`)
		Eventually(func() v1alpha1.SnapshotScheduleSpec { return eventuallyChild(ctx, f, namespace, false).Spec }).
			WithContext(ctx).Should(Equal(harness.Get(ctx, cluster, f).Spec.Template.Spec))

		By("suspending it when the label is removed")
		history := cluster.Record(ctx, namespace)
		merge(ctx, object, `{"metadata":{"labels":{"backup":null}}}`)
		eventuallyChild(ctx, f, namespace, true)
		Eventually(status).WithContext(ctx).Should(And(beReadyWith(metav1.ConditionTrue, v1alpha1.ReasonNoMatchingNamespaces),
			HaveField("Status.Detached", HaveValue(HaveField("SnapshotSchedules", BeEquivalentTo(1))))))
		cluster.Claim(ctx, namespace, "late", nil)

		By("resuming when the label is back")
		merge(ctx, object, `{"metadata":{"labels":{"backup":%q}}}`, f.Name)
		eventuallyChild(ctx, f, namespace, false)
		after := eventuallySnapshots(ctx, namespace, 3)
		Expect(names(after)).To(ContainElements(names(before)))
		for _, seen := range history.All() {
			Expect(seen.Deleted).To(BeFalse(), "%s should stay", &seen)
		}
	})

	// Contract: FLEET-4.
	It("deletes the SnapshotSchedule of a namespace that it no longer selects once there are no snapshots of it", func(ctx context.Context) {
		f := newFleet(ctx, v1alpha1.DeletionOrphan)
		namespace := fleetNamespace(ctx, f)
		eventuallyChild(ctx, f, namespace.Name, false)
		merge(ctx, namespace, `{"metadata":{"annotations":{%q:""}}}`, v1alpha1.AnnotationExclude)
		eventuallyNoChild(ctx, f, namespace.Name)
	})

	DescribeTable("with deletionPolicy Delete, is deleted with its SnapshotSchedules and their snapshots, by the garbage collector alone",
		func(ctx context.Context, cascade string) {
			start := cluster.Audit.Mark()
			f := newFleet(ctx, v1alpha1.DeletionDelete)
			object := fleetNamespace(ctx, f)
			namespace := object.Name
			cluster.BoundClaims(ctx, namespace, 2)
			eventuallySnapshots(ctx, namespace, 2)
			kubectl("delete", "csnapsched", f.Name, "--cascade="+cascade)
			eventuallyNoChild(ctx, f, namespace)
			eventuallyNoSnapshots(ctx, namespace)
			ours := cluster.Audit.Since(start).In(namespace)
			Expect(ours.Of("volumesnapshots", "delete", "patch", "update")).To(BeEmpty())
			Expect(ours.Where(func(r audit.Request) bool { return r.Verb == "delete" })).To(BeEmpty())
		},
		// Contract: FLEET-4, OWN-5.
		Entry("in the background", "background"),
		// Contract: FLEET-4, OWN-5.
		Entry("in the foreground", "foreground"),
	)

	// Contract: FLEET-3, OWN-6.
	It("with deletionPolicy Orphan, leaves the snapshots to one that is created again under its name", func(ctx context.Context) {
		f := newFleet(ctx, v1alpha1.DeletionOrphan)
		namespace := fleetNamespace(ctx, f).Name
		cluster.BoundClaims(ctx, namespace, 2)
		before := eventuallySnapshots(ctx, namespace, 2)
		kubectl("delete", "csnapsched", f.Name, "--cascade=foreground")
		eventuallyNoChild(ctx, f, namespace)
		for _, v := range cluster.Snapshots(ctx, namespace) {
			Expect(v.OwnerReferences).To(BeEmpty(), "%s should have no owner", v.Name)
		}
		again := &fleet{ObjectMeta: metav1.ObjectMeta{Name: f.Name}, Spec: f.Spec}
		// Slots count from a schedule's creation, which is in whole seconds: a new one has its own slots, so each PVC gets a new snapshot.
		Eventually(time.Now).WithContext(ctx).Should(BeTemporally(">=", before[0].CreationTimestamp.Add(time.Second)))
		Expect(cluster.Client.Create(ctx, again)).To(Succeed())
		Expect(names(eventuallySnapshots(ctx, namespace, 4))).To(ContainElements(names(before)))
		Eventually(func() v1alpha1.OutputCount {
			return eventuallyChild(ctx, again, namespace, false).Status.Outputs.VolumeSnapshots
		}).
			WithContext(ctx).Should(Equal(v1alpha1.OutputCount{Total: 4, Ready: 4}))
	})
})
