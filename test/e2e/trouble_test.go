// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

var _ = Describe("a full quota", func() {
	// Contract: ONE-7.
	It("stops no deletion, and snapshots resume by themselves when there is room", func(ctx context.Context) {
		namespace := cluster.Namespace(ctx, "quota")
		cluster.Start(ctx)
		cluster.BoundClaims(ctx, namespace, 2)
		const snapshots corev1.ResourceName = "count/volumesnapshots.snapshot.storage.k8s.io"
		quota := &corev1.ResourceQuota{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "snapshots"},
			Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{snapshots: resource.MustParse("6")}},
		}
		Expect(cluster.Client.Create(ctx, quota)).To(Succeed())
		waitForQuota(ctx, quota, snapshots)
		history := cluster.Record(ctx, namespace)
		schedule := cluster.Schedule(ctx, namespace, v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "2s", SnapshotTTL: "12s"})

		// The API server may refuse the first creates too, as long as it does not know the quota's use.
		var full int
		Eventually(func(g Gomega) {
			full = len(history.All())
			g.Expect(full).To(BeNumerically(">=", 6))
			g.Expect(fresh(ctx, schedule)()).To(And(
				beReadyWith(metav1.ConditionFalse, v1alpha1.ReasonSnapshotsFailing),
				haveProblem("data-0", v1alpha1.ReasonCreateFailed)), "the full quota should be reported")
		}).WithContext(ctx).WithTimeout(time.Minute).Should(Succeed())
		Eventually(func(g Gomega) {
			all := history.All()
			g.Expect(all[5].Deleted).To(BeTrue(), "snapshots should expire while the quota is full")
			g.Expect(len(all)).To(BeNumerically(">=", full+4), "snapshots should be taken in place of expired ones")
		}).WithContext(ctx).WithTimeout(time.Minute).Should(Succeed())

		room := client.MergeFrom(quota.DeepCopy())
		quota.Spec.Hard[snapshots] = resource.MustParse("100")
		Expect(cluster.Client.Patch(ctx, quota, room)).To(Succeed())
		Eventually(fresh(ctx, schedule)).WithContext(ctx).WithTimeout(time.Minute).Should(And(
			beReadyWith(metav1.ConditionTrue, v1alpha1.ReasonScheduled),
			HaveField("Status.Problems", BeEmpty())))
		Expect(history.Duplicates()).To(BeEmpty())
	})
})

func events(ctx context.Context, namespace string) func() []eventsv1.Event {
	return func() []eventsv1.Event {
		all := &eventsv1.EventList{}
		Expect(cluster.Client.List(ctx, all, client.InNamespace(namespace))).To(Succeed())
		return all.Items
	}
}
