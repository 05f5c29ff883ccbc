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
	"mapcontroller.dev/snapshotschedule/test/internal/audit"
)

var _ = Describe("a schedule that is deleted", Ordered, func() {
	var (
		operator *harness.Operator
		start    audit.Mark
	)

	BeforeAll(func(ctx context.Context) {
		start = cluster.Audit.Mark()
		operator = cluster.Start(ctx)
	})

	// scheduled creates a namespace with two PVCs and a schedule, and waits for a snapshot of each PVC.
	scheduled := func(ctx context.Context, name string, spec v1alpha1.SnapshotScheduleSpec) (string, *v1alpha1.SnapshotSchedule) {
		namespace := cluster.Namespace(ctx, name)
		cluster.BoundClaims(ctx, namespace, 2)
		s := cluster.Schedule(ctx, namespace, spec)
		eventuallySnapshots(ctx, namespace, 2)
		return namespace, s
	}
	orphan := hourly
	orphan.DeletionPolicy = v1alpha1.DeletionOrphan

	DescribeTable("leaves no snapshots, deleted by the garbage collector alone",
		func(ctx context.Context, cascade string) {
			namespace, _ := scheduled(ctx, cascade, hourly)
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
	It("leaves orphans that a new schedule with the same name adopts", func(ctx context.Context) {
		namespace, old := scheduled(ctx, "orphan", hourly)
		before := cluster.Snapshots(ctx, namespace)
		kubectl("delete", "snapsched", "nightly", "-n", namespace, "--cascade=orphan")
		for _, v := range eventuallySnapshots(ctx, namespace, 2) {
			Expect(v.OwnerReferences).To(BeEmpty())
		}

		// Slots are whole seconds: a new schedule of the same second would have the same first slot.
		Eventually(time.Now).WithContext(ctx).Should(BeTemporally(">", old.CreationTimestamp.Add(time.Second)))
		again := cluster.Schedule(ctx, namespace, hourly)
		// A new schedule has its own slots, so each PVC gets a new snapshot.
		all := eventuallySnapshots(ctx, namespace, 4)
		Eventually(func(g Gomega) {
			all = cluster.Snapshots(ctx, namespace)
			for i := range all {
				g.Expect(metav1.IsControlledBy(&all[i], again)).To(BeTrue(), "%s should be adopted", all[i].Name)
			}
		}).WithContext(ctx).Should(Succeed())
		Expect(names(all)).To(ContainElements(names(before)))
		Eventually(fresh(ctx, again)).WithContext(ctx).Should(HaveField("Status.Outputs.VolumeSnapshots.Total", BeEquivalentTo(4)))
	})

	// Contract: OWN-6.
	It("whose deletionPolicy has become Orphan loses none in a foreground deletion", func(ctx context.Context) {
		namespace, s := scheduled(ctx, "release", hourly)
		merge(ctx, s, `{"spec":{"deletionPolicy":"Orphan"}}`)
		Eventually(fresh(ctx, s)).WithContext(ctx).Should(HaveField("Status.ObservedGeneration", s.Generation))
		before := cluster.Snapshots(ctx, namespace)
		history := cluster.Record(ctx, namespace)
		kubectl("delete", "snapsched", "nightly", "-n", namespace, "--cascade=foreground")
		after := eventuallySnapshots(ctx, namespace, 2)
		Expect(names(after)).To(ConsistOf(names(before)))
		for i := range after {
			Expect(after[i].OwnerReferences).To(BeEmpty(), "%s should be released", after[i].Name)
		}
		// The garbage collector has processed this deletion once it has processed a later one.
		later, _ := scheduled(ctx, "later", hourly)
		kubectl("delete", "snapsched", "nightly", "-n", later)
		eventuallyNoSnapshots(ctx, later)
		for _, seen := range history.All() {
			Expect(seen.Deleted || seen.Last.DeletionTimestamp != nil).To(BeFalse(), "%s should stay", &seen)
		}
	})

	It("with deletionPolicy set back to Delete, owns its snapshots", func(ctx context.Context) {
		namespace, s := scheduled(ctx, "back", orphan)
		merge(ctx, s, `{"spec":{"deletionPolicy":"Delete"}}`)
		Eventually(owners(ctx, namespace)).WithContext(ctx).Should(HaveEach(HaveLen(1)))
		kubectl("delete", "snapsched", "nightly", "-n", namespace)
		eventuallyNoSnapshots(ctx, namespace)
	})

	// Contract: OWN-7.
	It("with deletionPolicy Orphan, does not block the deletion of its namespace", func(ctx context.Context) {
		namespace, _ := scheduled(ctx, "nsorphan", orphan)
		kubectl("delete", "namespace", namespace)
		Expect(operator.Alive()).To(BeTrue())
	})
})

var _ = Describe("a snapshot whose map key a user removes", Ordered, func() {
	var (
		namespace string
		schedule  *v1alpha1.SnapshotSchedule
		history   *harness.History
	)
	// unlabel removes the map key from the snapshot of a PVC.
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
		namespace, history = cluster.Recorded(ctx, "release", 3)
		schedule = cluster.Schedule(ctx, namespace, hourly)
		eventuallySnapshots(ctx, namespace, 3)
		released(ctx, unlabel(ctx, "data-0"))
		Eventually(fresh(ctx, schedule)).WithContext(ctx).Should(And(
			HaveField("Status.Outputs.VolumeSnapshots.Total", BeEquivalentTo(2)),
			beReadyWith(metav1.ConditionTrue, v1alpha1.ReasonScheduled)))
		operator.Stop()

		By("being released by the next start, if no operator ran")
		unseen := unlabel(ctx, "data-1")
		cluster.Start(ctx)
		released(ctx, unseen)

		By("not taking its slot again after a later snapshot was requested")
		annotate(ctx, harness.Get(ctx, cluster, schedule), v1alpha1.AnnotationRequestedAt,
			time.Now().UTC().Format(time.RFC3339))
		eventuallySnapshots(ctx, namespace, 6)
		Expect(history.All()).To(HaveLen(6))
		Expect(history.Duplicates()).To(BeEmpty())
	})
})
