// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/e2e/internal/harness"
	"mapcontroller.dev/snapshotschedule/test/internal/audit"
)

var _ = Describe("the lifecycle of snapshots", Ordered, func() {
	const (
		claims   = 3
		interval = 3 * time.Second
		ttl      = 9 * time.Second
		// detachedTTL is that of the snapshot of a deleted PVC.
		detachedTTL = 25 * time.Second
	)
	var (
		namespace, other    string
		schedule, detaching *v1alpha1.SnapshotSchedule
		history, detached   *harness.History
		foreign             *snapshotv1.VolumeSnapshot
		start               audit.Mark
	)

	BeforeAll(func(ctx context.Context) {
		start = cluster.Audit.Mark()
		cluster.Start(ctx)
		namespace, other = cluster.Namespace(ctx, "life"), cluster.Namespace(ctx, "detached")
		data := cluster.BoundClaims(ctx, namespace, claims)
		cluster.BoundClaims(ctx, other, 1)
		history, detached = cluster.Record(ctx, namespace), cluster.Record(ctx, other)
		foreign = foreignSnapshot(ctx, data[0])
		schedule = cluster.Schedule(ctx, namespace, v1alpha1.SnapshotScheduleSpec{
			Selector:         v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"app": "db"}},
			SnapshotInterval: "3s",
			SnapshotTTL:      "9s",
			SnapshotTemplate: v1alpha1.SnapshotTemplate{Metadata: v1alpha1.SnapshotTemplateMetadata{
				Labels:      map[string]v1alpha1.LabelValue{"tier": "gold"},
				Annotations: map[string]string{"example.com/note": "from the template"},
			}},
		})
		detaching = cluster.Schedule(ctx, other, v1alpha1.SnapshotScheduleSpec{
			SnapshotInterval: "1h",
			Retention:        v1alpha1.Retention{Detached: v1alpha1.DetachedRetention{SnapshotTTL: "25s"}},
		})
	})

	ours := func(claim string) []harness.Snapshot {
		var found []harness.Snapshot
		for _, s := range history.Of(claim) {
			if s.First.Name != foreign.Name {
				found = append(found, s)
			}
		}
		return found
	}

	It("counts the snapshots of a deleted PVC as detached", func(ctx context.Context) {
		eventuallySnapshots(ctx, other, 1)
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: other, Name: "data-0"}}
		Expect(cluster.Client.Delete(ctx, claim)).To(Succeed())
		Eventually(fresh(ctx, detaching)).WithContext(ctx).Should(And(
			HaveField("Status.Detached.MapKeys", BeEquivalentTo(1)),
			HaveField("Status.Detached.VolumeSnapshots", BeEquivalentTo(1)),
			HaveField("Status.Inputs.PersistentVolumeClaims.Total", BeZero()),
			beReadyWith(metav1.ConditionTrue, v1alpha1.ReasonNoMatchingClaims)))
		Expect(detached.All()).To(HaveExactElements(HaveField("Deleted", BeFalse())))
	})

	It("takes a snapshot at each slot, and they become ready", func(ctx context.Context) {
		for _, claim := range []string{"data-0", "data-1", "data-2"} {
			Eventually(func(g Gomega) {
				snapshots := ours(claim)
				g.Expect(len(snapshots)).To(BeNumerically(">=", 3))
				for _, s := range snapshots[:3] {
					g.Expect(harness.Ready(s.Last)).To(BeTrue(), "%s is not ready", &s)
				}
			}).WithContext(ctx).Should(Succeed())

			anchor := schedule.CreationTimestamp.Time
			for i, s := range ours(claim) {
				slot, err := time.Parse(time.RFC3339, s.Slot())
				Expect(err).NotTo(HaveOccurred())
				Expect(slot.Sub(anchor)%interval).To(BeZero(), "slots are whole intervals from the anchor")
				Expect(s.First.CreationTimestamp.Time).To(BeTemporally(">=", slot), "never before the slot")
				Expect(s.First.CreationTimestamp.Time).To(BeTemporally("<=", slot.Add(interval)), "never for an earlier slot")
				if i == 0 {
					Expect(slot).To(BeTemporally("==", anchor), "the first is due at once")
				}
			}
		}
	})

	It("deletes them at the end of their TTL, and not before", func(ctx context.Context) {
		Eventually(func(g Gomega) {
			for _, claim := range []string{"data-0", "data-1", "data-2"} {
				g.Expect(ours(claim)[1].Deleted).To(BeTrue(), "the second snapshot of %s should expire", claim)
			}
		}).WithContext(ctx).Should(Succeed())
		for _, s := range history.All() {
			if s.Last.DeletionTimestamp != nil {
				age := s.Last.DeletionTimestamp.Sub(s.First.CreationTimestamp.Time)
				Expect(age).To(BeNumerically(">=", ttl), "%s was deleted too early", &s)
				Expect(age).To(BeNumerically("<=", ttl+5*time.Second), "%s was deleted too late", &s)
			}
		}
	})

	It("keeps the newest snapshot while suspended, until a requested one replaces it", func(ctx context.Context) {
		s := harness.Get(ctx, cluster, schedule)
		s.Spec.Suspend = true
		Expect(cluster.Client.Update(ctx, s)).To(Succeed())
		Eventually(fresh(ctx, schedule)).WithContext(ctx).Should(And(
			beReadyWith(metav1.ConditionTrue, v1alpha1.ReasonSuspended),
			HaveField("Status.NextSnapshotTime", BeNil())))
		left := eventuallySnapshots(ctx, namespace, claims+1)
		Eventually(func(g Gomega) {
			for i := range left {
				g.Expect(time.Since(left[i].CreationTimestamp.Time)).To(BeNumerically(">", ttl+5*time.Second))
			}
		}).WithContext(ctx).Should(Succeed())
		Expect(names(eventuallySnapshots(ctx, namespace, claims+1))).To(ConsistOf(names(left)), "the newest snapshot of each PVC is kept beyond its TTL")

		annotate(ctx, harness.Get(ctx, cluster, schedule), v1alpha1.AnnotationRequestedAt, time.Now().UTC().Format(time.RFC3339))
		Eventually(func(g Gomega) {
			now := names(cluster.Snapshots(ctx, namespace))
			g.Expect(now).To(HaveLen(claims + 1))
			for _, name := range names(left) {
				if name != foreign.Name {
					g.Expect(now).NotTo(ContainElement(name))
				}
			}
		}).WithContext(ctx).Should(Succeed(), "requested snapshots should replace the old ones")
	})

	It("deletes detached snapshots at the end of their own TTL, and not before", func(ctx context.Context) {
		eventuallyNoSnapshots(ctx, other)
		Expect(detached.All()).To(HaveLen(1))
		s := detached.All()[0]
		Expect(s.Last.DeletionTimestamp.Sub(s.First.CreationTimestamp.Time)).To(And(
			BeNumerically(">=", detachedTTL), BeNumerically("<=", detachedTTL+5*time.Second)))
		Eventually(fresh(ctx, detaching)).WithContext(ctx).Should(HaveField("Status.Detached", HaveValue(BeZero())))
	})

	It("takes no slot twice, with one write per snapshot and one per deletion", func() {
		Expect(history.Duplicates()).To(BeEmpty())
		requests := cluster.Audit.Since(start)
		created, deleted := 0, 0
		for _, s := range history.All() {
			if s.First.Name == foreign.Name {
				continue
			}
			created++
			if s.Last.DeletionTimestamp != nil {
				deleted++
			}
		}
		Expect(requests.In(namespace).Of("volumesnapshots", "create")).To(HaveLen(created))
		Expect(requests.In(namespace).Of("volumesnapshots", "delete")).To(HaveLen(deleted))
		Expect(requests.In(namespace).Of("volumesnapshots", "patch", "update", "deletecollection")).To(BeEmpty())
	})

	It("does not touch a snapshot with another controller, whatever its labels", func(ctx context.Context) {
		still := harness.Get(ctx, cluster, foreign)
		Expect(still.DeletionTimestamp).To(BeNil())
		Expect(still.OwnerReferences).To(Equal(foreign.OwnerReferences))
		requests := cluster.Audit.Since(start).In(namespace)
		Expect(requests.Where(func(r audit.Request) bool { return r.Name == foreign.Name })).To(BeEmpty())
	})
})

// foreignSnapshot creates a snapshot with a schedule's labels that another object controls.
func foreignSnapshot(ctx context.Context, claim *corev1.PersistentVolumeClaim) *snapshotv1.VolumeSnapshot {
	owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: claim.Namespace, Name: "owner"}}
	Expect(cluster.Client.Create(ctx, owner)).To(Succeed())
	v := &snapshotv1.VolumeSnapshot{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: claim.Namespace, Name: "someone-elses",
			Labels: map[string]string{v1alpha1.LabelMapKey: string(claim.UID), v1alpha1.LabelSchedule: "nightly"},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID, Controller: ptr.To(true),
			}},
		},
		Spec: snapshotv1.VolumeSnapshotSpec{
			Source: snapshotv1.VolumeSnapshotSource{PersistentVolumeClaimName: &claim.Name},
		},
	}
	Expect(cluster.Client.Create(ctx, v, client.FieldOwner("someone-else"))).To(Succeed())
	return v
}
