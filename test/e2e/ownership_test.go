// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/e2e/internal/harness"
)

var _ = Describe("a schedule that is deleted", Ordered, func() {
	var (
		operator *harness.Operator
		start    harness.Mark
	)

	BeforeAll(func(ctx context.Context) {
		start = cluster.Audit.Mark()
		operator = cluster.Start(ctx)
	})

	// bucket is a namespace with two PVCs and a snapshot of each.
	bucket := func(ctx context.Context, name string, spec v1alpha1.SnapshotScheduleSpec) (string, *v1alpha1.SnapshotSchedule) {
		namespace := cluster.Namespace(ctx, name)
		cluster.BoundClaims(ctx, namespace, 2)
		s := cluster.Schedule(ctx, namespace, spec)
		eventuallySnapshots(ctx, namespace, 2)
		return namespace, s
	}
	orphan := hourly
	orphan.DeletionPolicy = v1alpha1.DeletionOrphan

	DescribeTable("leaves an empty bucket, by the garbage collector's work alone",
		func(ctx context.Context, cascade string) {
			namespace, _ := bucket(ctx, cascade, hourly)
			kubectl("delete", "snapsched", "nightly", "-n", namespace, "--cascade="+cascade)
			eventuallyNoSnapshots(ctx, namespace)
			Expect(cluster.Audit.Since(start).In(namespace).Of("volumesnapshots", "delete", "patch", "update")).To(BeEmpty())
		},
		// Contract: OWN-5.
		Entry("in the background", "background"),
		// Contract: OWN-5.
		Entry("in the foreground", "foreground"),
	)

	// Contract: OWN-2.
	It("leaves orphans that a new schedule of the name takes back", func(ctx context.Context) {
		namespace, old := bucket(ctx, "orphan", hourly)
		before := cluster.Snapshots(ctx, namespace)
		kubectl("delete", "snapsched", "nightly", "-n", namespace, "--cascade=orphan")
		for _, v := range eventuallySnapshots(ctx, namespace, 2) {
			Expect(v.OwnerReferences).To(BeEmpty())
		}

		// Slots are whole seconds: in the second of the old one's slot, the new
		// schedule's would be served already.
		Eventually(time.Now).WithContext(ctx).Should(BeTemporally(">", old.CreationTimestamp.Add(time.Second)))
		again := cluster.Schedule(ctx, namespace, hourly)
		// A new schedule has slots of its own, so there is one new snapshot each.
		all := eventuallySnapshots(ctx, namespace, 4)
		Eventually(func(g Gomega) {
			all = cluster.Snapshots(ctx, namespace)
			for i := range all {
				g.Expect(metav1.IsControlledBy(&all[i], again)).To(BeTrue(), "%s should be adopted", all[i].Name)
			}
		}).WithContext(ctx).Should(Succeed())
		Expect(named(all)).To(ContainElements(named(before)))
		Eventually(fresh(ctx, again)).WithContext(ctx).Should(HaveField("Status.Outputs.VolumeSnapshots.Total", BeEquivalentTo(4)))
	})

	// Contract: OWN-6.
	It("with deletionPolicy Orphan, releases every snapshot before it goes", func(ctx context.Context) {
		namespace, s := bucket(ctx, "release", orphan)
		Expect(harness.Get(ctx, cluster, s).Finalizers).To(ContainElement(v1alpha1.FinalizerRelease))
		before := cluster.Snapshots(ctx, namespace)
		history := cluster.Record(ctx, namespace)
		kubectl("delete", "snapsched", "nightly", "-n", namespace)
		after := eventuallySnapshots(ctx, namespace, 2)
		Expect(named(after)).To(ConsistOf(named(before)))
		for i := range after {
			Expect(after[i].OwnerReferences).To(BeEmpty(), "%s should be released", after[i].Name)
		}
		// What the garbage collector would take it takes soon. It has looked at
		// this deletion once it has collected one that came later.
		namespaceLater, _ := bucket(ctx, "later", hourly)
		kubectl("delete", "snapsched", "nightly", "-n", namespaceLater)
		eventuallyNoSnapshots(ctx, namespaceLater)
		for _, seen := range history.All() {
			Expect(seen.Gone || seen.Last.DeletionTimestamp != nil).To(BeFalse(), "%s should stay", &seen)
		}
	})

	It("with deletionPolicy set back to Delete, has no finalizer", func(ctx context.Context) {
		namespace, s := bucket(ctx, "back", orphan)
		back := harness.Get(ctx, cluster, s)
		back.Spec.DeletionPolicy = v1alpha1.DeletionDelete
		Expect(cluster.Client.Update(ctx, back)).To(Succeed())
		Eventually(fresh(ctx, s)).WithContext(ctx).Should(HaveField("Finalizers", BeEmpty()))
		kubectl("delete", "snapsched", "nightly", "-n", namespace)
		eventuallyNoSnapshots(ctx, namespace)
	})

	// Contract: OWN-7.
	It("with deletionPolicy Orphan, goes with its namespace all the same", func(ctx context.Context) {
		namespace, _ := bucket(ctx, "nsorphan", orphan)
		kubectl("delete", "namespace", namespace)
		Expect(operator.Alive()).To(BeTrue())
	})
})

var _ = Describe("a snapshot that a user takes out of the bucket", Ordered, func() {
	var (
		namespace string
		schedule  *v1alpha1.SnapshotSchedule
		history   *harness.History
	)
	// unlabel takes the map key off the snapshot of a PVC.
	unlabel := func(ctx context.Context, claim string) *snapshotv1.VolumeSnapshot {
		for _, v := range cluster.Snapshots(ctx, namespace) {
			if *v.Spec.Source.PersistentVolumeClaimName == claim {
				patch := client.MergeFrom(v.DeepCopy())
				delete(v.Labels, v1alpha1.LabelMapKey)
				Expect(cluster.Client.Patch(ctx, &v, patch)).To(Succeed())
				return &v
			}
		}
		Fail("there is no snapshot of " + claim)
		return nil
	}
	released := func(ctx context.Context, v *snapshotv1.VolumeSnapshot) {
		EventuallyWithOffset(1, func() []metav1.OwnerReference { return harness.Get(ctx, cluster, v).OwnerReferences }).
			WithContext(ctx).Should(BeEmpty(), "%s should be released", v.Name)
	}

	// Contract: OWN-4.
	It("is released while the operator runs, and its slot is not taken again", func(ctx context.Context) {
		operator := cluster.Start(ctx)
		namespace = cluster.Namespace(ctx, "release")
		cluster.BoundClaims(ctx, namespace, 3)
		history = cluster.Record(ctx, namespace)
		schedule = cluster.Schedule(ctx, namespace, hourly)
		eventuallySnapshots(ctx, namespace, 3)
		released(ctx, unlabel(ctx, "data-0"))
		Eventually(fresh(ctx, schedule)).WithContext(ctx).Should(And(
			HaveField("Status.Outputs.VolumeSnapshots.Total", BeEquivalentTo(2)),
			beReadyWith(metav1.ConditionTrue, v1alpha1.ReasonScheduled)))
		operator.Stop()

		By("being released by the next start, where no one looked")
		alone := unlabel(ctx, "data-1")
		cluster.Start(ctx)
		released(ctx, alone)

		By("still not being taken again once a later snapshot was asked for and came")
		annotate(ctx, harness.Get(ctx, cluster, schedule), v1alpha1.AnnotationRequestedAt,
			time.Now().UTC().Format(time.RFC3339))
		eventuallySnapshots(ctx, namespace, 6)
		Expect(history.All()).To(HaveLen(6))
		Expect(history.Twice()).To(BeEmpty())
	})
})
