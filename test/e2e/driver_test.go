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
	// Contract: ONE-4, STAT-15, PROT-1, PROT-2.
	It("are taken one at a time per PVC, reported as failed and replaced at each slot, with a missing class", func(ctx context.Context) {
		cluster.Start(ctx)
		namespace, history := cluster.Recorded(ctx, "noclass", 3)
		for _, claim := range []string{"data-0", "data-1", "data-2"} { // of a known driver, the operator would not try
			provisionedBy(ctx, namespace, claim, "null")
		}
		schedule := cluster.Schedule(ctx, namespace, v1alpha1.SnapshotScheduleSpec{
			SnapshotInterval: "6s",
			ReadyDeadline:    "2s",
			SnapshotTemplate: v1alpha1.SnapshotTemplate{Spec: v1alpha1.SnapshotTemplateSpec{VolumeSnapshotClassName: ptr.To("no-such-class")}},
		})
		Eventually(fresh(ctx, schedule)).WithContext(ctx).Should(And(
			beReadyWith(metav1.ConditionFalse, v1alpha1.ReasonSnapshotsFailing),
			haveProblem("data-0", v1alpha1.ReasonSnapshotFailed),
			haveProblem("data-1", v1alpha1.ReasonSnapshotFailed),
			haveProblem("data-2", v1alpha1.ReasonSnapshotFailed),
			haveProblem("data-0", v1alpha1.ReasonSnapshotError)))
		Expect(schedule.Status.Problems).To(ContainElement(And(
			HaveField("Reason", v1alpha1.ReasonSnapshotError), HaveField("Message", ContainSubstring("no-such-class")))))
		Eventually(fresh(ctx, schedule)).WithContext(ctx).Should(HaveField("Status.Conditions", ContainElement(And(
			HaveField("Type", v1alpha1.ConditionProtected), HaveField("Reason", v1alpha1.ReasonRecoveryPointsOld)))))
		Eventually(events(ctx, namespace)).WithContext(ctx).Should(ContainElement(And(
			HaveField("Reason", v1alpha1.ReasonSnapshotFailed), HaveField("Note", ContainSubstring("data-0")))))
		for _, claim := range []string{"data-0", "data-1", "data-2"} {
			Eventually(func() int {
				cluster.RequeueDeleted(ctx, namespace)
				return len(history.Of(claim))
			}).WithContext(ctx).WithTimeout(2*time.Minute).WithPolling(2*time.Second).Should(BeNumerically(">=", 4), "snapshots of %s", claim)
			Expect(history.MaxAtOnce(claim)).To(Equal(1), "snapshots of %s at once", claim)
		}
		Expect(history.Duplicates()).To(BeEmpty())
	})

	// Contract: ONE-4.
	It("are not taken again until the driver is back, with a driver that is down", func(ctx context.Context) {
		start := cluster.Audit.Mark()
		cluster.Start(ctx)
		namespace, history := cluster.Recorded(ctx, "down", 3)
		resume := cluster.PausePart("csi-snapshotter")
		schedule := cluster.Schedule(ctx, namespace, v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "3s", ReadyDeadline: "2s"})
		Eventually(fresh(ctx, schedule)).WithContext(ctx).Should(And(
			beReadyWith(metav1.ConditionFalse, v1alpha1.ReasonSnapshotsFailing),
			// Overdue once the failed one is being deleted.
			Or(haveProblem("data-0", v1alpha1.ReasonSnapshotFailed), haveProblem("data-0", v1alpha1.ReasonSnapshotOverdue))))
		// The failed ones are being deleted and wait for the driver to remove its finalizer: five slots
		// pass without another snapshot.
		Eventually(time.Now).WithContext(ctx).Should(BeTemporally(">", schedule.CreationTimestamp.Add(15*time.Second)))
		Eventually(func(g Gomega) {
			for _, s := range history.All() {
				g.Expect(s.Last.DeletionTimestamp).NotTo(BeNil(), "%s should be being deleted", &s)
			}
		}).WithContext(ctx).Should(Succeed())
		Expect(history.All()).To(HaveLen(3), "one pending snapshot per PVC")
		Expect(cluster.Audit.Since(start).In(namespace).Of("volumesnapshots", "delete")).To(HaveLen(3))

		resume()
		Eventually(func(g Gomega) {
			cluster.RequeueDeleted(ctx, namespace)
			for _, claim := range []string{"data-0", "data-1", "data-2"} {
				snapshots := history.Of(claim)
				g.Expect(len(snapshots)).To(BeNumerically(">=", 3))
				g.Expect(snapshots[0].Deleted).To(BeTrue(), "the failed snapshot of %s should be deleted", claim)
				g.Expect(harness.Ready(snapshots[1].Last)).To(BeTrue(), "the next snapshot of %s should become ready", claim)
			}
		}).WithContext(ctx).WithTimeout(2 * time.Minute).WithPolling(2 * time.Second).Should(Succeed())
		Eventually(fresh(ctx, schedule)).WithContext(ctx).Should(beReadyWith(metav1.ConditionTrue, v1alpha1.ReasonScheduled))
		Expect(history.Duplicates()).To(BeEmpty())
	})
})
