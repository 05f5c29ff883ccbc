// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

var _ = Describe("the lifecycle of snapshots", func() {
	const (
		interval, ttl = 3 * time.Second, 9 * time.Second
		// late is how much later than due a delete may be made on a busy machine.
		late = 5 * time.Second
	)

	// Contract: CLASS-4.
	It("is that of the spec, with one write for each snapshot and each deletion, and none in another namespace", func(ctx context.Context) {
		namespace, other := cluster.Namespace(ctx, "life"), cluster.Namespace(ctx, "other")
		mine, theirs := cluster.BoundClaims(ctx, namespace, 3), cluster.BoundClaims(ctx, other, 1)
		class := create(ctx, &snapshotv1.VolumeSnapshotClass{
			ObjectMeta: metav1.ObjectMeta{Name: namespace}, Driver: mockDriver, DeletionPolicy: snapshotv1.VolumeSnapshotContentDelete,
		})
		// It looks like an expired orphan of the series of a PVC, in another namespace.
		bait := &snapshotv1.VolumeSnapshot{ObjectMeta: metav1.ObjectMeta{
			Namespace: other, Name: "bait",
			Labels:      map[string]string{v1alpha1.LabelMapKey: string(mine[0].UID), v1alpha1.LabelSchedule: "nightly"},
			Annotations: map[string]string{v1alpha1.AnnotationScheduledAt: "2020-01-01T00:00:00Z"},
		}}
		bait.Spec.Source.PersistentVolumeClaimName = &theirs[0].Name
		Expect(cluster.Client.Create(ctx, bait)).To(Succeed())
		start, history := cluster.Mark(), cluster.Record(ctx, namespace)
		cluster.Start(ctx)
		schedule := cluster.Schedule(ctx, namespace, v1alpha1.SnapshotScheduleSpec{
			Selector:         v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"app": "db"}},
			SnapshotInterval: "3s", SnapshotTTL: "9s",
			SnapshotTemplate: v1alpha1.SnapshotTemplate{Spec: v1alpha1.SnapshotTemplateSpec{
				VolumeSnapshotClassNames: []v1alpha1.SnapshotClassName{"none", v1alpha1.SnapshotClassName(class.Name)}}},
		})

		By("taking a snapshot at each slot, and deleting each at the end of its TTL")
		Eventually(func(g Gomega) {
			for _, claim := range mine {
				all := history.Of(claim.Name)
				g.Expect(len(all)).To(BeNumerically(">=", 5))
				g.Expect(all[1].Deleted).To(BeTrue(), "the second snapshot of %s should have expired", claim.Name)
				g.Expect(ready(all[2].Last)).To(BeTrue(), "the third snapshot of %s should be ready", claim.Name)
			}
		}).WithContext(ctx).WithTimeout(time.Minute).Should(Succeed())

		By("keeping the newest of each PVC beyond its TTL while suspended")
		merge(ctx, schedule, `{"spec":{"suspend":true}}`)
		left := eventuallySnapshots(ctx, namespace, len(mine))
		Eventually(time.Now).WithContext(ctx).Should(BeTemporally(">", left[0].CreationTimestamp.Add(ttl+late)))
		Expect(names(eventuallySnapshots(ctx, namespace, len(mine)))).To(ConsistOf(names(left)))
		Eventually(fresh(ctx, schedule)).WithContext(ctx).Should(And(
			beReadyWith(metav1.ConditionTrue, v1alpha1.ReasonSuspended),
			HaveField("Status.Outputs.VolumeSnapshots", Equal(v1alpha1.OutputCount{Total: 3, Ready: 3}))))

		history.ExpectInOrder()
		deleted, anchor := 0, schedule.CreationTimestamp.Time
		for _, s := range history.All() {
			slot, created := s.Slot(), s.First.CreationTimestamp.Time
			Expect(slot.Sub(anchor)%interval).To(BeZero(), "slots are whole intervals from the creation of the schedule")
			Expect(created).To(And(BeTemporally(">=", slot), BeTemporally("<=", slot.Add(interval))), s.First.Name)
			Expect(s.First.Spec.VolumeSnapshotClassName).To(HaveValue(Equal(class.Name)))
			if s.Last.DeletionTimestamp != nil {
				deleted++
				Expect(s.Age()).To(And(BeNumerically(">=", ttl), BeNumerically("<=", ttl+late)), s.First.Name)
			}
		}
		Expect(cluster.Since(start).In(other)).To(BeEmpty())
		requests := cluster.Since(start).In(namespace)
		Expect(requests.Of("volumesnapshots", "create")).To(HaveLen(history.Count()))
		Expect(requests.Of("volumesnapshots", "delete")).To(HaveLen(deleted))
		Expect(requests.Of("volumesnapshots", "patch", "update", "deletecollection")).To(BeEmpty())
	}, NodeTimeout(3*time.Minute))
})
