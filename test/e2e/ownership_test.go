// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/internal/audit"
)

// afterGarbageCollection waits until the garbage collector has processed the deletions so far: it has when it has processed a later one.
func afterGarbageCollection(ctx context.Context) {
	GinkgoHelper()
	later, _ := scheduled(ctx, "later", 1, hourly)
	kubectl("delete", "snapsched", "nightly", "-n", later)
	eventuallyNoSnapshots(ctx, later)
}

var _ = Describe("a schedule that is deleted", Ordered, func() {
	var (
		operator *Operator
		start    audit.Mark
	)
	BeforeAll(func(ctx context.Context) {
		start = cluster.Mark()
		operator = cluster.Start(ctx)
	})

	DescribeTable("leaves no snapshots, deleted by the garbage collector alone",
		func(ctx context.Context, cascade string) {
			namespace, _ := scheduled(ctx, cascade, 2, hourly)
			kubectl("delete", "snapsched", "nightly", "-n", namespace, "--cascade="+cascade)
			eventuallyNoSnapshots(ctx, namespace)
			Expect(cluster.Since(start).In(namespace).Of("volumesnapshots", "delete", "patch", "update")).To(BeEmpty())
		},
		// Contract: OWN-5.
		Entry("in the background", "background"),
		// Contract: OWN-5.
		Entry("in the foreground", "foreground"),
	)

	// Contract: OWN-2.
	It("leaves orphans that a new schedule with the same name adopts", func(ctx context.Context) {
		namespace, _ := scheduled(ctx, "orphan", 2, hourly)
		before := cluster.Snapshots(ctx, namespace)
		kubectl("delete", "snapsched", "nightly", "-n", namespace, "--cascade=orphan")
		eventuallySnapshots(ctx, namespace, 2)
		Expect(owners(ctx, namespace)()).To(HaveEach(BeEmpty()))

		nextSecond(ctx) // a new schedule of the same second would have the same first slot
		again := cluster.Schedule(ctx, namespace, hourly)
		all := eventuallySnapshots(ctx, namespace, 4) // each PVC gets a new snapshot
		Expect(names(all)).To(ContainElements(names(before)))
		Eventually(owners(ctx, namespace)).WithContext(ctx).Should(HaveEach(ConsistOf(And(
			HaveField("UID", again.UID), HaveField("Controller", HaveValue(BeTrue()))))))
		Eventually(fresh(ctx, again)).WithContext(ctx).Should(HaveField("Status.Outputs.VolumeSnapshots.Total", BeEquivalentTo(4)))
	})

	// Contract: OWN-6.
	It("whose deletionPolicy has become Orphan loses none in a foreground deletion", func(ctx context.Context) {
		namespace, s := scheduled(ctx, "release", 2, hourly)
		history := cluster.Record(ctx, namespace)
		merge(ctx, s, `{"spec":{"deletionPolicy":"Orphan"}}`)
		Eventually(fresh(ctx, s)).WithContext(ctx).Should(HaveField("Status.ObservedGeneration", s.Generation))
		kubectl("delete", "snapsched", "nightly", "-n", namespace, "--cascade=foreground")
		afterGarbageCollection(ctx)
		Expect(owners(ctx, namespace)()).To(HaveExactElements(BeEmpty(), BeEmpty()))
		for _, seen := range history.All() {
			Expect(seen.Last.DeletionTimestamp).To(BeNil(), seen.First.Name)
		}
	})

	DescribeTable("does not block the deletion of its namespace",
		func(ctx context.Context, policy v1alpha1.DeletionPolicy) {
			often := v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "1s", DeletionPolicy: policy}
			namespace, history := cluster.Recorded(ctx, "deleted", 2)
			cluster.Schedule(ctx, namespace, often)
			Eventually(history.Count).WithContext(ctx).Should(BeNumerically(">=", 4))
			kubectl("delete", "namespace", namespace)
			afterwards := cluster.Mark()
			scheduled(ctx, "later", 1, hourly)
			Expect(operator.Alive()).To(BeTrue())
			Expect(cluster.Since(afterwards).In(namespace)).To(BeEmpty(), "requests for a namespace that was deleted")
		},
		// Contract: OWN-7.
		Entry("with deletionPolicy Delete", v1alpha1.DeletionDelete),
		// Contract: OWN-7.
		Entry("with deletionPolicy Orphan", v1alpha1.DeletionOrphan),
	)
})
