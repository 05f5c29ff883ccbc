// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/e2e/internal/harness"
)

var _ = Describe("an operator that is killed again and again", func() {
	const (
		claims   = 20
		rounds   = 16
		interval = 2 * time.Second
	)

	// slotAt returns the newest slot at a time.
	slotAt := func(s *v1alpha1.SnapshotSchedule, t time.Time) time.Time {
		anchor := s.CreationTimestamp.Time
		return anchor.Add(t.Sub(anchor).Truncate(interval))
	}
	slotOf := func(s harness.Snapshot) time.Time {
		slot, err := time.Parse(time.RFC3339, s.Slot())
		Expect(err).NotTo(HaveOccurred())
		return slot
	}

	// Contract: MAP-7.
	It("takes no slot twice, and takes the current one after each restart", func(ctx context.Context) {
		seed := uint64(GinkgoRandomSeed())
		random := rand.New(rand.NewPCG(seed, 0))
		namespace, history := cluster.Recorded(ctx, "crash", claims)
		schedule := cluster.Schedule(ctx, namespace, v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "2s", SnapshotTTL: "10s"})

		for round := range rounds {
			operator := cluster.Launch(ctx)
			before := len(history.All())
			killed := make(chan struct{})
			if round%2 == 0 {
				// Right after the n-th create of this round was seen.
				n := before + 1 + random.IntN(claims)
				history.OnAdd(func(added int) {
					if added == n {
						operator.Kill()
						close(killed)
					}
				})
				Eventually(killed).WithContext(ctx).Should(BeClosed(), "round %d: %d creates", round, n-before)
				history.OnAdd(nil)
			} else {
				// At a random time, its start included.
				after := time.Duration(random.Int64N(int64(interval + interval/2)))
				Eventually(time.After(after)).WithContext(ctx).WithPolling(time.Millisecond).Should(Receive())
				operator.Kill()
			}
		}
		AddReportEntry("snapshots before the last start", fmt.Sprintf("%d in %d rounds, seed %d", len(history.All()), rounds, seed))

		By("missing at least three slots while it is down")
		down := time.Now()
		Eventually(time.Now).WithContext(ctx).Should(BeTemporally(">", down.Add(3*interval)))
		missed := history.All()
		started := time.Now()
		cluster.Start(ctx)
		for i := range claims {
			claim := fmt.Sprintf("data-%d", i)
			var since []harness.Snapshot
			Eventually(func(g Gomega) {
				since = nil
				for _, s := range history.Of(claim) {
					if !slices.ContainsFunc(missed, func(o harness.Snapshot) bool { return o.First.UID == s.First.UID }) {
						since = append(since, s)
					}
				}
				g.Expect(len(since)).To(BeNumerically(">=", 2))
			}).WithContext(ctx).Should(Succeed(), "%s should have new snapshots", claim)
			slot, created := slotOf(since[0]), since[0].First.CreationTimestamp.Time
			Expect(slot).To(BeTemporally(">=", slotAt(schedule, started)), "only the newest of the missed slots of %s", claim)
			Expect(slot).To(BeTemporally(">", created.Add(-interval-time.Second)), "the current slot of %s", claim)
		}
		Expect(history.Duplicates()).To(BeEmpty())
		var outOfOrder []string
		last := map[string]time.Time{}
		for _, s := range history.All() {
			if slot := slotOf(s); !slot.After(last[s.Claim()]) {
				outOfOrder = append(outOfOrder, s.String())
			} else {
				last[s.Claim()] = slot
			}
		}
		Expect(outOfOrder).To(BeEmpty(), "slots of a PVC are taken in order, each once")
	})
})
