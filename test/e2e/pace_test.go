// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/e2e/internal/harness"
	"mapcontroller.dev/snapshotschedule/test/internal/audit"
)

var _ = Describe("many snapshots that expire at once", func() {
	It("are deleted at the rate that --max-deletes-per-second allows", func(ctx context.Context) {
		const claims, perSecond = 12, 2
		start := cluster.Audit.Mark()
		cluster.Start(ctx, "--max-deletes-per-second=2")
		namespace, history := cluster.Recorded(ctx, "pace", claims)
		schedule := cluster.Schedule(ctx, namespace, v1alpha1.SnapshotScheduleSpec{
			SnapshotInterval: "1h",
			Retention:        v1alpha1.Retention{MaxCount: ptr.To[int32](1)},
		})
		first := eventuallySnapshots(ctx, namespace, claims)
		Eventually(time.Now).WithContext(ctx).Should(BeTemporally(">", schedule.CreationTimestamp.Add(time.Second)))
		requested := time.Now()
		annotate(ctx, harness.Get(ctx, cluster, schedule), v1alpha1.AnnotationRequestedAt, time.Now().UTC().Format(time.RFC3339))
		Eventually(func() []string { return names(cluster.Snapshots(ctx, namespace)) }).WithContext(ctx).Should(
			And(HaveLen(claims), Not(ContainElement(BeElementOf(names(first))))), "new snapshots should replace the old ones")

		deletes := cluster.Audit.Since(start).In(namespace).Of("volumesnapshots", "delete")
		Expect(deletes).To(HaveLen(claims))
		// The first two are deleted at once, then two per second. On a busy machine requests may arrive
		// late and several together, but none arrives early.
		slices.SortFunc(deletes, func(a, b audit.Request) int { return a.Time.Compare(b.Time) })
		for i, d := range deletes {
			Expect(d.Time.Sub(requested)).To(BeNumerically(">=", time.Duration(i+1-perSecond)*time.Second/perSecond),
				"delete %d of %v", i+1, deletes)
		}
		Expect(history.Duplicates()).To(BeEmpty())
	})
})
