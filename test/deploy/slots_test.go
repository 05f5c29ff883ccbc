// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"context"
	"fmt"
	"slices"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/internal/builders"
)

// workload is a namespace with PVCs and a schedule without a TTL, so that all of its snapshots can be listed at
// the end.
type workload struct {
	namespace string
	interval  time.Duration
	schedule  *v1alpha1.SnapshotSchedule
	claims    []*corev1.PersistentVolumeClaim
	// ownerless says that the snapshots carry no ownerReference: those of a schedule with policy Orphan.
	ownerless bool
}

func newWorkload(ctx context.Context, namespace string, interval time.Duration, claims int, policy v1alpha1.DeletionPolicy) *workload {
	GinkgoHelper()
	w := &workload{namespace: namespace, interval: interval, ownerless: policy == v1alpha1.DeletionOrphan}
	Expect(cluster.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})).To(Succeed())
	for i := range claims {
		claim := builders.Claim(namespace, fmt.Sprintf("data-%d", i), nil)
		Expect(cluster.Client.Create(ctx, claim)).To(Succeed())
		w.claims = append(w.claims, claim)
	}
	for _, claim := range w.claims {
		Eventually(func(g Gomega) {
			g.Expect(cluster.Client.Get(ctx, client.ObjectKeyFromObject(claim), claim)).To(Succeed())
			g.Expect(claim.Status.Phase).To(Equal(corev1.ClaimBound))
		}).WithContext(ctx).Should(Succeed())
	}
	w.schedule = builders.Schedule(namespace, "often", v1alpha1.SnapshotScheduleSpec{
		SnapshotInterval: v1alpha1.Duration(interval.String()), DeletionPolicy: policy})
	Expect(cluster.Client.Create(ctx, w.schedule)).To(Succeed())
	return w
}

// taken returns the snapshots of one PVC by slot. A slot with two snapshots fails the spec.
func (w *workload) taken(ctx context.Context, claim *corev1.PersistentVolumeClaim) map[time.Time]*snapshotv1.VolumeSnapshot {
	GinkgoHelper()
	all := &snapshotv1.VolumeSnapshotList{}
	Expect(cluster.Client.List(ctx, all, client.InNamespace(w.namespace))).To(Succeed())
	bySlot := map[time.Time]*snapshotv1.VolumeSnapshot{}
	for i := range all.Items {
		s := &all.Items[i]
		if *s.Spec.Source.PersistentVolumeClaimName != claim.Name {
			continue
		}
		slot, err := time.Parse(time.RFC3339, s.Annotations[v1alpha1.AnnotationScheduledAt])
		Expect(err).NotTo(HaveOccurred(), s.Name)
		if twin, ok := bySlot[slot]; ok {
			Fail(fmt.Sprintf("the slot %s of %s was taken twice, by %s and %s", slot, claim.Name, twin.Name, s.Name))
		}
		Expect(metav1.IsControlledBy(s, w.schedule)).NotTo(Equal(w.ownerless), "%s: %v", s.Name, s.OwnerReferences)
		Expect(s.Labels).To(HaveKeyWithValue(v1alpha1.LabelMapKey, string(claim.UID)), s.Name)
		bySlot[slot] = s
	}
	return bySlot
}

// newest returns the newest slot that has a snapshot of every PVC.
func (w *workload) newest(ctx context.Context) time.Time {
	GinkgoHelper()
	var oldest time.Time
	for i, claim := range w.claims {
		var last time.Time
		for slot := range w.taken(ctx, claim) {
			if slot.After(last) {
				last = slot
			}
		}
		if i == 0 || last.Before(oldest) {
			oldest = last
		}
	}
	return oldest
}

// expectSnapshots waits until every PVC has a snapshot for a slot that is later than now.
func (w *workload) expectSnapshots(ctx context.Context) {
	GinkgoHelper()
	from := time.Now()
	Eventually(func() time.Time { return w.newest(ctx) }).WithContext(ctx).
		Should(BeTemporally(">", from), "snapshots should be taken in %s", w.namespace)
}

// pause returns the longest time without a snapshot since a time.
func (w *workload) pause(ctx context.Context, since time.Time) time.Duration {
	GinkgoHelper()
	longest := time.Duration(0)
	for _, claim := range w.claims {
		times := []time.Time{since, time.Now()}
		for _, s := range w.taken(ctx, claim) {
			if t := s.CreationTimestamp.Time; t.After(since) {
				times = append(times, t)
			}
		}
		slices.SortFunc(times, time.Time.Compare)
		for i := range times[1:] {
			longest = max(longest, times[i+1].Sub(times[i]))
		}
	}
	return longest.Round(time.Second / 10)
}

// suspend suspends the schedule, so that the snapshots that are listed afterwards are final.
func (w *workload) suspend(ctx context.Context) {
	GinkgoHelper()
	patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"suspend":true}}`))
	Expect(cluster.Client.Patch(ctx, w.schedule, patch)).To(Succeed())
	Eventually(func(g Gomega) {
		s := &v1alpha1.SnapshotSchedule{}
		g.Expect(cluster.Client.Get(ctx, client.ObjectKeyFromObject(w.schedule), s)).To(Succeed())
		g.Expect(s.Status.ObservedGeneration).To(Equal(s.Generation))
		g.Expect(s.Status.Conditions).To(ContainElement(HaveField("Reason", v1alpha1.ReasonSuspended)))
	}).WithContext(ctx).Should(Succeed())
}

// expectEverySlot fails unless every slot of every PVC up to a time has a snapshot, and every snapshot is for a
// slot.
func (w *workload) expectEverySlot(ctx context.Context, until time.Time) (slots int) {
	GinkgoHelper()
	for _, claim := range w.claims {
		anchor := w.schedule.CreationTimestamp.Time
		if claim.CreationTimestamp.After(anchor) {
			anchor = claim.CreationTimestamp.Time
		}
		bySlot := w.taken(ctx, claim)
		for slot := anchor.UTC(); !slot.After(until); slot = slot.Add(w.interval) {
			Expect(bySlot).To(HaveKey(slot), "the slot %s of %s was missed", slot, claim.Name)
			delete(bySlot, slot)
			slots++
		}
		for slot, s := range bySlot {
			Expect(slot.After(until) && slot.Sub(anchor)%w.interval == 0).To(BeTrue(), "%s is not for a slot", s.Name)
		}
	}
	return slots
}

// expectReady waits until all snapshots are ready.
func (w *workload) expectReady(ctx context.Context) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		for _, claim := range w.claims {
			for _, s := range w.taken(ctx, claim) {
				g.Expect(s.Status).To(HaveValue(HaveField("ReadyToUse", HaveValue(BeTrue()))), s.Name)
			}
		}
	}).WithContext(ctx).Should(Succeed())
}
