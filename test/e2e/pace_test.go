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
	"mapcontroller.dev/snapshotschedule/test/internal/audit"
)

var _ = Describe("many snapshots that expire at once", func() {
	It("are deleted at the rate that --max-deletes-per-second allows", func(ctx context.Context) {
		const claims, perSecond = 12, 2
		start := cluster.Mark()
		cluster.Start(ctx, "--max-deletes-per-second=2")
		namespace, schedule := scheduled(ctx, "pace", claims, v1alpha1.SnapshotScheduleSpec{
			SnapshotInterval: "1h", Retention: v1alpha1.Retention{MaxCount: ptr.To[int32](1)},
		})
		requested := time.Now()
		request(ctx, schedule)
		deletes := func() audit.Requests { return cluster.Since(start).In(namespace).Of("volumesnapshots", "delete") }
		Eventually(deletes).WithContext(ctx).Should(HaveLen(claims))
		// The first two are deleted at once, then two per second. On a busy machine requests may arrive
		// late and several together, but none arrives early.
		sorted := slices.SortedFunc(slices.Values(deletes()), func(a, b audit.Request) int { return a.Time.Compare(b.Time) })
		for i, d := range sorted {
			Expect(d.Time.Sub(requested)).To(BeNumerically(">=", time.Duration(i+1-perSecond)*time.Second/perSecond),
				"delete %d of %v", i+1, sorted)
		}
		eventuallySnapshots(ctx, namespace, claims)
	})
})
