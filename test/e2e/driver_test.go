// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/e2e/internal/harness"
)

var _ = Describe("snapshots that never become ready", func() {
	// Contract: ONE-4.
	It("with a class that does not exist, are one per PVC, failed, and replaced slot after slot", func(ctx context.Context) {
		cluster.Start(ctx)
		namespace := cluster.Namespace(ctx, "noclass")
		cluster.BoundClaims(ctx, namespace, 3)
		history := cluster.Record(ctx, namespace)
		schedule := cluster.Schedule(ctx, namespace, v1alpha1.SnapshotScheduleSpec{
			SnapshotInterval: "6s",
			ReadyDeadline:    "2s",
			SnapshotTemplate: v1alpha1.SnapshotTemplate{Spec: v1alpha1.SnapshotTemplateSpec{VolumeSnapshotClassName: ptr.To("no-such-class")}},
		})
		Eventually(fresh(ctx, schedule)).WithContext(ctx).Should(And(
			beReadyWith(metav1.ConditionFalse, v1alpha1.ReasonSnapshotsFailing),
			haveProblem("data-0", v1alpha1.ReasonSnapshotFailed),
			haveProblem("data-1", v1alpha1.ReasonSnapshotFailed),
			haveProblem("data-2", v1alpha1.ReasonSnapshotFailed)))
		Eventually(events(ctx, namespace)).WithContext(ctx).Should(ContainElement(And(
			HaveField("Reason", v1alpha1.ReasonSnapshotFailed), HaveField("Note", ContainSubstring("data-0")))))
		for _, claim := range []string{"data-0", "data-1", "data-2"} {
			Eventually(func() []harness.Seen { return history.Of(claim) }).WithContext(ctx).Should(HaveLen(4))
			Expect(history.Most(claim)).To(Equal(1), "one at a time of %s", claim)
		}
		Expect(history.Twice()).To(BeEmpty())
	})

	// Contract: ONE-4.
	It("with a driver that is down, are one per PVC until it comes back", func(ctx context.Context) {
		start := cluster.Audit.Mark()
		cluster.Start(ctx)
		namespace := cluster.Namespace(ctx, "down")
		cluster.BoundClaims(ctx, namespace, 3)
		history := cluster.Record(ctx, namespace)
		up := cluster.PausePart("csi-snapshotter")
		schedule := cluster.Schedule(ctx, namespace, v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "3s", ReadyDeadline: "2s"})
		Eventually(fresh(ctx, schedule)).WithContext(ctx).Should(And(
			beReadyWith(metav1.ConditionFalse, v1alpha1.ReasonSnapshotsFailing),
			// Overdue, once the failed one was asked to go.
			Or(haveProblem("data-0", v1alpha1.ReasonSnapshotFailed), haveProblem("data-0", v1alpha1.ReasonSnapshotOverdue))))
		// The failed ones are deleted, and wait for the driver to let them go:
		// five slots pass, and none is added.
		Eventually(time.Now).WithContext(ctx).Should(BeTemporally(">", schedule.CreationTimestamp.Add(15*time.Second)))
		Eventually(func(g Gomega) {
			for _, s := range history.All() {
				g.Expect(s.Last.DeletionTimestamp).NotTo(BeNil(), "%s should be on its way out", &s)
			}
		}).WithContext(ctx).Should(Succeed())
		Expect(history.All()).To(HaveLen(3), "one waiting snapshot per PVC, never a pile")
		Expect(cluster.Audit.Since(start).In(namespace).Of("volumesnapshots", "delete")).To(HaveLen(3))

		up()
		Eventually(func(g Gomega) {
			cluster.Nudge(ctx, namespace)
			for _, claim := range []string{"data-0", "data-1", "data-2"} {
				taken := history.Of(claim)
				g.Expect(len(taken)).To(BeNumerically(">=", 3))
				g.Expect(taken[0].Gone).To(BeTrue(), "the failed snapshot of %s should go", claim)
				g.Expect(harness.Ready(taken[1].Last)).To(BeTrue(), "the next snapshot of %s should become ready", claim)
			}
		}).WithContext(ctx).WithTimeout(2 * time.Minute).WithPolling(2 * time.Second).Should(Succeed())
		Eventually(fresh(ctx, schedule)).WithContext(ctx).Should(beReadyWith(metav1.ConditionTrue, v1alpha1.ReasonScheduled))
		Expect(history.Twice()).To(BeEmpty())
	})
})
