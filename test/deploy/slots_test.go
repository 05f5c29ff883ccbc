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
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// workload is a namespace with PVCs and a schedule that never expires anything,
// so that in the end all that was ever taken can be listed.
type workload struct {
	namespace string
	interval  time.Duration
	schedule  *v1alpha1.SnapshotSchedule
	claims    []*corev1.PersistentVolumeClaim
}

func newWorkload(ctx context.Context, namespace string, interval time.Duration, claims int) *workload {
	GinkgoHelper()
	w := &workload{namespace: namespace, interval: interval}
	Expect(cluster.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})).To(Succeed())
	for i := range claims {
		claim := &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("data-%d", i)},
			Spec: corev1.PersistentVolumeClaimSpec{
				AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				Resources: corev1.VolumeResourceRequirements{
					Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
				},
			},
		}
		Expect(cluster.Client.Create(ctx, claim)).To(Succeed())
		w.claims = append(w.claims, claim)
	}
	for _, claim := range w.claims {
		Eventually(func(g Gomega) {
			g.Expect(cluster.Client.Get(ctx, client.ObjectKeyFromObject(claim), claim)).To(Succeed())
			g.Expect(claim.Status.Phase).To(Equal(corev1.ClaimBound))
		}).WithContext(ctx).Should(Succeed())
	}
	w.schedule = &v1alpha1.SnapshotSchedule{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "often"},
		Spec:       v1alpha1.SnapshotScheduleSpec{SnapshotInterval: v1alpha1.Duration(interval.String())},
	}
	Expect(cluster.Client.Create(ctx, w.schedule)).To(Succeed())
	return w
}

// taken are the snapshots of one PVC by slot, as the API server lists them. A
// slot that was served twice fails the spec.
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
			Fail(fmt.Sprintf("the slot %s of %s was served twice, by %s and %s", slot, claim.Name, twin.Name, s.Name))
		}
		Expect(metav1.IsControlledBy(s, w.schedule)).To(BeTrue(), "%s should be the schedule's", s.Name)
		Expect(s.Labels).To(HaveKeyWithValue(v1alpha1.LabelMapKey, string(claim.UID)), s.Name)
		bySlot[slot] = s
	}
	return bySlot
}

// newest is the latest slot that is served for every PVC.
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

// goesOn waits until every PVC has a snapshot for a slot that is later than now.
func (w *workload) goesOn(ctx context.Context) {
	GinkgoHelper()
	from := time.Now()
	Eventually(func() time.Time { return w.newest(ctx) }).WithContext(ctx).
		Should(BeTemporally(">", from), "slots should be served in %s", w.namespace)
}

// pause is the longest time without a snapshot since a moment.
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

// suspend stops the schedule, so that what is listed afterwards is final.
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

// expectEverySlot fails unless every slot of every PVC, from the first up to a
// moment, is served, and nothing is served that is no slot.
func (w *workload) expectEverySlot(ctx context.Context, until time.Time) (slots int) {
	GinkgoHelper()
	for _, claim := range w.claims {
		anchor := w.schedule.CreationTimestamp.Time
		if claim.CreationTimestamp.After(anchor) {
			anchor = claim.CreationTimestamp.Time
		}
		bySlot := w.taken(ctx, claim)
		for slot := anchor.UTC(); !slot.After(until); slot = slot.Add(w.interval) {
			Expect(bySlot).To(HaveKey(slot), "the slot %s of %s was lost", slot, claim.Name)
			delete(bySlot, slot)
			slots++
		}
		for slot, s := range bySlot {
			Expect(slot.After(until) && slot.Sub(anchor)%w.interval == 0).To(BeTrue(), "%s is for no slot", s.Name)
		}
	}
	return slots
}

// expectReady waits until the driver has cut all that was taken.
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
