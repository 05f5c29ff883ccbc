// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/e2e/internal/harness"
	"mapcontroller.dev/snapshotschedule/test/internal/audit"
)

var _ = Describe("two operators with leader election", func() {
	// lease returns the holder of the lease, or the empty string.
	lease := func(ctx context.Context) func() string {
		return func() string {
			all := &coordinationv1.LeaseList{}
			Expect(cluster.Client.List(ctx, all, client.InNamespace(harness.SystemNamespace))).To(Succeed())
			if len(all.Items) == 0 || all.Items[0].Spec.HolderIdentity == nil {
				return ""
			}
			return *all.Items[0].Spec.HolderIdentity
		}
	}

	It("take over from each other: after a crash when the lease expires, after SIGTERM at once", func(ctx context.Context) {
		// An operator of another spec that was killed may have left its lease.
		Expect(cluster.Client.DeleteAllOf(ctx, &coordinationv1.Lease{}, client.InNamespace(harness.SystemNamespace))).To(Succeed())
		start := cluster.Audit.Mark()
		first := cluster.StartElected(ctx)
		Eventually(lease(ctx)).WithContext(ctx).ShouldNot(BeEmpty(), "the first should acquire the lease")
		holder := lease(ctx)()
		second := cluster.StartElected(ctx)

		namespace, history := cluster.Recorded(ctx, "lead", 2)
		cluster.Schedule(ctx, namespace, v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "2s", SnapshotTTL: "20s"})
		expectMoreSnapshots := func(within time.Duration) time.Duration {
			mark := time.Now()
			n := len(history.All())
			EventuallyWithOffset(1, func() []harness.Snapshot { return history.All() }).WithContext(ctx).WithTimeout(within).
				Should(WithTransform(func(all []harness.Snapshot) int { return len(all) }, BeNumerically(">=", n+4)))
			return time.Since(mark)
		}
		expectMoreSnapshots(20 * time.Second)
		writes := func(o *harness.Operator) audit.Requests {
			return cluster.Audit.Since(start).In(namespace).By(o.Credential).Where(func(r audit.Request) bool {
				return r.Verb != "get" && r.Verb != "list" && r.Verb != "watch"
			})
		}
		Expect(writes(second)).To(BeEmpty(), "only the leader writes")

		By("killing the leader")
		first.Kill()
		crash := time.Now()
		Eventually(lease(ctx)).WithContext(ctx).WithTimeout(40 * time.Second).ShouldNot(Or(BeEmpty(), Equal(holder)))
		AddReportEntry("time until the takeover after a crash", time.Since(crash).Round(time.Second/10))
		expectMoreSnapshots(20 * time.Second)
		Expect(writes(second)).NotTo(BeEmpty())

		By("terminating the leader")
		third := cluster.StartElected(ctx)
		holder = lease(ctx)()
		second.Stop()
		end := time.Now()
		Eventually(lease(ctx)).WithContext(ctx).WithTimeout(10*time.Second).ShouldNot(Or(BeEmpty(), Equal(holder)),
			"a leader that is terminated should release its lease")
		AddReportEntry("time until the takeover after SIGTERM", time.Since(end).Round(time.Second/10))
		expectMoreSnapshots(20 * time.Second)
		Expect(third.Alive()).To(BeTrue())
		Expect(history.Duplicates()).To(BeEmpty(), fmt.Sprint("of ", len(history.All())))
	})
})
