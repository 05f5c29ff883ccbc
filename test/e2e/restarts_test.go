// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"math/rand/v2"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/internal/audit"
)

// Integration tests and simulations end a manager at each of its writes; these specs end processes.
var _ = Describe("the operator's process", func() {
	// Contract: MAP-7.
	It("takes no slot twice when it is killed again and again, and the current one afterwards", func(ctx context.Context) {
		const claims, rounds, interval = 20, 10, 2 * time.Second
		random := rand.New(rand.NewPCG(uint64(GinkgoRandomSeed()), 0))
		namespace, history := cluster.Recorded(ctx, "crash", claims)
		cluster.Schedule(ctx, namespace, v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "2s", SnapshotTTL: "10s"})
		for round := range rounds {
			operator, before := cluster.Launch(ctx), history.Count()
			if round%2 == 0 {
				// While it takes snapshots.
				Eventually(history.Count).WithContext(ctx).WithPolling(time.Millisecond).Should(BeNumerically(">", before+random.IntN(claims)))
			} else {
				// At a random time, its start included.
				after := time.Duration(random.Int64N(int64(interval + interval/2)))
				Eventually(time.After(after)).WithContext(ctx).WithPolling(time.Millisecond).Should(Receive())
			}
			operator.Kill()
		}
		killed, before := time.Now(), history.Count()
		Eventually(time.Now).WithContext(ctx).Should(BeTemporally(">", killed.Add(3*interval)), "slots should be missed")
		cluster.Start(ctx)
		Eventually(history.Count).WithContext(ctx).Should(BeNumerically(">=", before+2*claims))
		history.ExpectInOrder()
		for _, s := range history.All()[before:] {
			// The one before the newest would be taken two intervals late.
			Expect(s.Slot()).To(BeTemporally(">", s.First.CreationTimestamp.Add(-2*interval)), "only the newest missed slot is taken")
		}
	}, NodeTimeout(4*time.Minute))

	It("takes over from another one: after a crash when its lease expires, after SIGTERM at once", func(ctx context.Context) {
		inSystem := client.InNamespace(cluster.System)
		holder := func() string {
			all := &coordinationv1.LeaseList{}
			Expect(cluster.Client.List(ctx, all, inSystem)).To(Succeed())
			if len(all.Items) == 0 || all.Items[0].Spec.HolderIdentity == nil {
				return ""
			}
			return *all.Items[0].Spec.HolderIdentity
		}
		// takeover waits for another leader, and for its snapshots.
		namespace, history := cluster.Recorded(ctx, "lead", 2)
		takeover := func(from string, within time.Duration) {
			GinkgoHelper()
			mark := time.Now()
			Eventually(holder).WithContext(ctx).WithTimeout(within).ShouldNot(Or(BeEmpty(), Equal(from)))
			AddReportEntry("takeover", time.Since(mark).Round(time.Second/10))
			Eventually(history.Count).WithContext(ctx).Should(BeNumerically(">=", history.Count()+4))
		}
		// An operator of another spec that was killed may have left its lease.
		Expect(cluster.Client.DeleteAllOf(ctx, &coordinationv1.Lease{}, inSystem)).To(Succeed())
		start := cluster.Mark()
		first := cluster.StartElected(ctx)
		cluster.Schedule(ctx, namespace, v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "2s", SnapshotTTL: "20s"})
		takeover("", 30*time.Second)
		leader, second := holder(), cluster.StartElected(ctx)
		writes := func(o *Operator) audit.Requests {
			return cluster.Since(start).In(namespace).By(o.Credential).Where(audit.Request.Writes)
		}
		Eventually(history.Count).WithContext(ctx).Should(BeNumerically(">=", history.Count()+4))
		Expect(writes(second)).To(BeEmpty(), "only the leader writes")

		first.Kill()
		takeover(leader, 40*time.Second)
		Expect(writes(second)).NotTo(BeEmpty())

		third := cluster.StartElected(ctx)
		leader = holder()
		second.Stop()
		takeover(leader, 10*time.Second)
		Expect(third.Alive()).To(BeTrue())
		history.ExpectInOrder()
	}, NodeTimeout(3*time.Minute))
})
