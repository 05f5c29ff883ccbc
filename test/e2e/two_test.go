// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/e2e/internal/harness"
)

var _ = Describe("two operators at once, without leader election", func() {
	// Contract: MAP-7.
	It("take no slot twice and delete nothing too soon or twice", func(ctx context.Context) {
		start := cluster.Audit.Mark()
		one, other := cluster.Start(ctx), cluster.Start(ctx)
		namespace := cluster.Namespace(ctx, "two")
		cluster.BoundClaims(ctx, namespace, 5)
		history := cluster.Record(ctx, namespace)
		schedule := cluster.Schedule(ctx, namespace, v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "2s", SnapshotTTL: "8s"})
		Eventually(func(g Gomega) {
			for _, claim := range []string{"data-0", "data-1", "data-2", "data-3", "data-4"} {
				taken := history.Of(claim)
				g.Expect(len(taken)).To(BeNumerically(">=", 8), "snapshots of %s", claim)
				g.Expect(taken[2].Gone).To(BeTrue(), "the third snapshot of %s should expire", claim)
			}
		}).WithContext(ctx).WithTimeout(time.Minute).Should(Succeed())

		Expect(history.Twice()).To(BeEmpty())
		expired := 0
		for _, s := range history.All() {
			if s.Last.DeletionTimestamp != nil {
				expired++
				Expect(s.Last.DeletionTimestamp.Sub(s.First.CreationTimestamp.Time)).To(And(
					BeNumerically(">=", 8*time.Second), BeNumerically("<=", 13*time.Second)), "the age of %s at its end", &s)
			}
		}
		asked := cluster.Audit.Since(start).In(namespace)
		taken := asked.Of("volumesnapshots", "create").Where(func(r harness.Request) bool { return r.Code == http.StatusCreated })
		Expect(len(taken)).To(BeNumerically("~", len(history.All()), 5), "every create that was granted is seen")
		deleted := asked.Of("volumesnapshots", "delete").Where(func(r harness.Request) bool { return r.Code == http.StatusOK })
		Expect(len(deleted)).To(BeNumerically("<=", expired+5), "none is deleted twice")
		AddReportEntry("requests of the one", asked.By(one).Count())
		AddReportEntry("requests of the other", asked.By(other).Count())
		Expect(harness.Get(ctx, cluster, schedule)).To(And(
			beReadyWith(metav1.ConditionTrue, v1alpha1.ReasonScheduled),
			HaveField("Status.Problems", BeEmpty())))
	})
})
