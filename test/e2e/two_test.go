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
	"mapcontroller.dev/snapshotschedule/test/internal/audit"
)

var _ = Describe("two operators at once, without leader election", func() {
	// Contract: MAP-7.
	It("take no slot twice and delete nothing too early or twice", func(ctx context.Context) {
		start := cluster.Audit.Mark()
		first, second := cluster.Start(ctx), cluster.Start(ctx)
		namespace, history := cluster.Recorded(ctx, "two", 5)
		schedule := cluster.Schedule(ctx, namespace, v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "2s", SnapshotTTL: "8s"})
		Eventually(func(g Gomega) {
			for _, claim := range []string{"data-0", "data-1", "data-2", "data-3", "data-4"} {
				snapshots := history.Of(claim)
				g.Expect(len(snapshots)).To(BeNumerically(">=", 8), "snapshots of %s", claim)
				g.Expect(snapshots[2].Deleted).To(BeTrue(), "the third snapshot of %s should expire", claim)
			}
		}).WithContext(ctx).WithTimeout(time.Minute).Should(Succeed())

		Expect(history.Duplicates()).To(BeEmpty())
		expired := 0
		for _, s := range history.All() {
			if s.Last.DeletionTimestamp != nil {
				expired++
				Expect(s.Last.DeletionTimestamp.Sub(s.First.CreationTimestamp.Time)).To(And(
					BeNumerically(">=", 8*time.Second), BeNumerically("<=", 13*time.Second)), "the age of %s at its end", &s)
			}
		}
		requests := cluster.Audit.Since(start).In(namespace)
		created := requests.Of("volumesnapshots", "create").Where(func(r audit.Request) bool { return r.Code == http.StatusCreated })
		Expect(len(created)).To(BeNumerically("~", len(history.All()), 5), "every successful create is in the history")
		deleted := requests.Of("volumesnapshots", "delete").Where(func(r audit.Request) bool { return r.Code == http.StatusOK })
		Expect(len(deleted)).To(BeNumerically("<=", expired+5), "deletes without duplicates")
		AddReportEntry("requests of the first", requests.By(first.Credential).Summary())
		AddReportEntry("requests of the second", requests.By(second.Credential).Summary())
		// A stack that is slow for a moment leaves a PVC overdue after 2 s, until its next snapshot.
		Eventually(func() *v1alpha1.SnapshotSchedule { return harness.Get(ctx, cluster, schedule) }).
			WithContext(ctx).WithTimeout(time.Minute).Should(And(
			beReadyWith(metav1.ConditionTrue, v1alpha1.ReasonScheduled),
			HaveField("Status.Problems", BeEmpty())))
	})
})
