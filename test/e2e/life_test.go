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
)

var _ = Describe("the life of snapshots", Ordered, func() {
	const (
		claims   = 3
		interval = 3 * time.Second
		ttl      = 9 * time.Second
		// keep is how long the snapshot of the PVC that goes is to stay.
		keep = 25 * time.Second
	)
	var (
		namespace, other string
		schedule, away   *v1alpha1.SnapshotSchedule
		history, gone    *harness.History
		foreign          *snapshotv1.VolumeSnapshot
		start            harness.Mark
	)

	BeforeAll(func(ctx context.Context) {
		start = cluster.Audit.Mark()
		cluster.Start(ctx)
		namespace, other = cluster.Namespace(ctx, "life"), cluster.Namespace(ctx, "gone")
		data := cluster.BoundClaims(ctx, namespace, claims)
		cluster.BoundClaims(ctx, other, 1)
		history, gone = cluster.Record(ctx, namespace), cluster.Record(ctx, other)
		foreign = foreignSnapshot(ctx, data[0])
		schedule = cluster.Schedule(ctx, namespace, v1alpha1.SnapshotScheduleSpec{
			Selector:         metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}},
			SnapshotInterval: "3s",
			SnapshotTTL:      "9s",
			SnapshotTemplate: v1alpha1.SnapshotTemplate{Metadata: v1alpha1.SnapshotTemplateMetadata{
				Labels:      map[string]v1alpha1.LabelValue{"tier": "gold"},
				Annotations: map[string]string{"example.com/note": "from the template"},
			}},
		})
		away = cluster.Schedule(ctx, other, v1alpha1.SnapshotScheduleSpec{
			SnapshotInterval: "1h",
			Retention:        v1alpha1.Retention{Detached: v1alpha1.DetachedRetention{SnapshotTTL: "25s"}},
		})
	})

	ours := func(claim string) []harness.Seen {
		var found []harness.Seen
		for _, s := range history.Of(claim) {
			if s.First.Name != foreign.Name {
				found = append(found, s)
			}
		}
		return found
	}

	It("calls the snapshots of a PVC that is gone detached", func(ctx context.Context) {
		eventuallySnapshots(ctx, other, 1)
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: other, Name: "data-0"}}
		Expect(cluster.Client.Delete(ctx, claim)).To(Succeed())
		Eventually(fresh(ctx, away)).WithContext(ctx).Should(And(
			HaveField("Status.Detached.MapKeys", BeEquivalentTo(1)),
			HaveField("Status.Detached.VolumeSnapshots", BeEquivalentTo(1)),
			HaveField("Status.Inputs.PersistentVolumeClaims.Total", BeZero()),
			beReadyWith(metav1.ConditionTrue, v1alpha1.ReasonNoMatchingClaims)))
		Expect(gone.All()).To(HaveExactElements(HaveField("Gone", BeFalse())))
	})

	It("takes snapshots that become ready, slot after slot", func(ctx context.Context) {
		for _, claim := range []string{"data-0", "data-1", "data-2"} {
			Eventually(func(g Gomega) {
				taken := ours(claim)
				g.Expect(len(taken)).To(BeNumerically(">=", 3))
				for _, s := range taken[:3] {
					g.Expect(harness.Ready(s.Last)).To(BeTrue(), "%s is not ready", &s)
				}
			}).WithContext(ctx).Should(Succeed())

			anchor := schedule.CreationTimestamp.Time
			for i, s := range ours(claim) {
				slot, err := time.Parse(time.RFC3339, s.Slot())
				Expect(err).NotTo(HaveOccurred())
				Expect(slot.Sub(anchor)%interval).To(BeZero(), "slots are whole intervals from the anchor")
				Expect(s.First.CreationTimestamp.Time).To(BeTemporally(">=", slot), "never before the slot")
				Expect(s.First.CreationTimestamp.Time).To(BeTemporally("<=", slot.Add(interval)), "never for a slot that is past")
				if i == 0 {
					Expect(slot).To(BeTemporally("==", anchor), "the first is due at once")
				}
			}
		}
	})

	It("gives them the marks that the contract names", func() {
		s := ours("data-1")[0].First
		Expect(s.OwnerReferences).To(ConsistOf(metav1.OwnerReference{
			APIVersion: v1alpha1.GroupVersion.String(), Kind: "SnapshotSchedule", Name: schedule.Name, UID: schedule.UID,
			Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true),
		}))
		Expect(s.Labels).To(And(
			HaveKeyWithValue(v1alpha1.LabelSchedule, schedule.Name),
			HaveKey(v1alpha1.LabelMapKey),
			HaveKeyWithValue("tier", "gold")))
		Expect(s.Annotations).To(HaveKeyWithValue("example.com/note", "from the template"))
		Expect(s.Name).To(MatchRegexp(`^data-1-[0-9]{14}-[a-z0-9]+$`))
	})

	It("expires them by their age, and no sooner", func(ctx context.Context) {
		Eventually(func(g Gomega) {
			for _, claim := range []string{"data-0", "data-1", "data-2"} {
				g.Expect(ours(claim)[1].Gone).To(BeTrue(), "the second snapshot of %s should expire", claim)
			}
		}).WithContext(ctx).Should(Succeed())
		for _, s := range history.All() {
			if s.Last.DeletionTimestamp != nil {
				age := s.Last.DeletionTimestamp.Sub(s.First.CreationTimestamp.Time)
				Expect(age).To(BeNumerically(">=", ttl), "%s went too soon", &s)
				Expect(age).To(BeNumerically("<=", ttl+5*time.Second), "%s went too late", &s)
			}
		}
	})

	It("shows in status what it does", func(ctx context.Context) {
		Eventually(fresh(ctx, schedule)).WithContext(ctx).Should(And(
			beReadyWith(metav1.ConditionTrue, v1alpha1.ReasonScheduled),
			HaveField("Status.ObservedGeneration", schedule.Generation),
			HaveField("Status.Inputs.PersistentVolumeClaims.Total", BeEquivalentTo(claims)),
			HaveField("Status.Outputs.VolumeSnapshots.Ready", BeNumerically(">=", claims)),
			HaveField("Status.LastSnapshotTime", Not(BeNil())),
			HaveField("Status.NextSnapshotTime", Not(BeNil())),
			HaveField("Status.OldestRecoveryPoint", Not(BeNil())),
			HaveField("Status.Problems", BeEmpty())))
	})

	It("keeps the floor while suspended, until a requested snapshot takes its place", func(ctx context.Context) {
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
		Expect(named(eventuallySnapshots(ctx, namespace, claims+1))).To(ConsistOf(named(left)), "the floor holds beyond the TTL")

		annotate(ctx, harness.Get(ctx, cluster, schedule), v1alpha1.AnnotationRequestedAt, time.Now().UTC().Format(time.RFC3339))
		Eventually(func(g Gomega) {
			now := named(cluster.Snapshots(ctx, namespace))
			g.Expect(now).To(HaveLen(claims + 1))
			for _, name := range named(left) {
				if name != foreign.Name {
					g.Expect(now).NotTo(ContainElement(name))
				}
			}
		}).WithContext(ctx).Should(Succeed(), "requested snapshots should take the place of the old ones")
	})

	It("lets the snapshots of a PVC that is gone go after their own TTL, and no sooner", func(ctx context.Context) {
		eventuallyNoSnapshots(ctx, other)
		Expect(gone.All()).To(HaveLen(1))
		s := gone.All()[0]
		Expect(s.Last.DeletionTimestamp.Sub(s.First.CreationTimestamp.Time)).To(And(
			BeNumerically(">=", keep), BeNumerically("<=", keep+5*time.Second)))
		Eventually(fresh(ctx, away)).WithContext(ctx).Should(HaveField("Status.Detached", BeZero()))
	})

	It("takes no slot twice, and costs one write per snapshot and one per expiry", func() {
		Expect(history.Twice()).To(BeEmpty())
		asked := cluster.Audit.Since(start)
		taken, expired := 0, 0
		for _, s := range history.All() {
			if s.First.Name == foreign.Name {
				continue
			}
			taken++
			if s.Last.DeletionTimestamp != nil {
				expired++
			}
		}
		Expect(asked.In(namespace).Of("volumesnapshots", "create")).To(HaveLen(taken))
		Expect(asked.In(namespace).Of("volumesnapshots", "delete")).To(HaveLen(expired))
		Expect(asked.In(namespace).Of("volumesnapshots", "patch", "update", "deletecollection")).To(BeEmpty())
	})

	It("leaves alone what someone else controls, whatever its labels", func(ctx context.Context) {
		still := harness.Get(ctx, cluster, foreign)
		Expect(still.DeletionTimestamp).To(BeNil())
		Expect(still.OwnerReferences).To(Equal(foreign.OwnerReferences))
		asked := cluster.Audit.Since(start).In(namespace)
		Expect(asked.Where(func(r harness.Request) bool { return r.Name == foreign.Name })).To(BeEmpty())
	})
})

// foreignSnapshot looks like one of a schedule's, but is controlled by another
// object.
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
