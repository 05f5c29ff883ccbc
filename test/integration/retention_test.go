// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

func held(v *snapshot) { v.Annotations[v1alpha1.AnnotationHold] = "" }

// The schedules here are suspended, so that nothing comes while the clocks are put on.
var _ = Describe("Retention", func() {
	var w *world
	BeforeEach(func() { w = newWorld() })

	// left waits until these and no others are there.
	left := func(names ...string) {
		GinkgoHelper()
		Eventually(w.names).Should(ConsistOf(names))
	}

	// Contract: RET-2.
	It("deletes what is older than snapshotTTL, down to the floor, as time passes", func() {
		w.schedule("backup", func(s *spec) { s.SnapshotInterval, s.SnapshotTTL = "2s", "3s" })
		o := w.start()
		w.claim("data")
		oldest := w.first("data")
		makeReady(oldest)
		Eventually(func(g Gomega) {
			for _, v := range w.snapshots() {
				if v.Status == nil && v.DeletionTimestamp == nil {
					makeReady(&v)
				}
			}
			g.Expect(gone(oldest)()).To(BeTrue())
		}).Should(Succeed())
		Expect(w.of("data")).NotTo(BeEmpty())
		Expect(o.network.seen(func(r request) bool { return r.method == "DELETE" && r.answer == 200 })).NotTo(BeEmpty())
	})

	// Contract: RET-6.
	It("keeps the newest ready one of a PVC that is there, however old", func() {
		s := w.schedule("backup", suspended, ttl("1h"))
		c := w.claim("data")
		w.past(s, c, 3*time.Hour)
		keep := w.past(s, c, 2*time.Hour)
		w.past(s, c, time.Hour, func(v *snapshot) { v.Name = "unready" })
		unready := snapshotv1.VolumeSnapshotStatus{ReadyToUse: ptr.To(false), Error: &snapshotv1.VolumeSnapshotError{}}
		v := &snapshot{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "unready"}}
		setStatus(get(v), unready)
		w.start(at(4 * time.Hour))
		left(keep.Name)
	})

	// Contract: RET-6.
	It("keeps as many as minReady says", func() {
		s := w.schedule("backup", suspended, ttl("1h"), func(s *spec) { s.Retention.MinReady = ptr.To[int32](2) })
		c := w.claim("data")
		w.past(s, c, 3*time.Hour)
		b, a := w.past(s, c, 2*time.Hour), w.past(s, c, time.Hour)
		w.start(at(4 * time.Hour))
		left(a.Name, b.Name)
	})

	// Contract: RET-4.
	It("keeps everything without a TTL and tiers", func() {
		s := w.schedule("backup", suspended)
		expiring := w.schedule("expiring", suspended, ttl("1h"))
		c := w.claim("data")
		a, b := w.past(s, c, 3*time.Hour), w.past(s, c, 2*time.Hour)
		own := func(v *snapshot) { v.Name += "-expiring" }
		w.past(expiring, c, 3*time.Hour, own)
		last := w.past(expiring, c, 2*time.Hour, own)
		w.start(at(100 * 24 * time.Hour))
		left(a.Name, b.Name, last.Name)
	})

	// Contract: RET-3.
	It("keeps what a tier selects beyond the TTL", func() {
		s := w.schedule("backup", suspended, ttl("1h"), func(s *spec) { s.Retention.Keep.Last = 2 })
		c := w.claim("data")
		w.past(s, c, 3*time.Hour)
		b, a := w.past(s, c, 2*time.Hour), w.past(s, c, time.Hour)
		w.start(at(4 * time.Hour))
		left(a.Name, b.Name)
	})

	// Contract: RET-5.
	It("caps the series at maxCount, the oldest first", func() {
		s := w.schedule("backup", suspended, func(s *spec) { s.Retention.MaxCount = ptr.To[int32](2) })
		c := w.claim("data")
		w.past(s, c, 3*time.Hour)
		b, a := w.past(s, c, 2*time.Hour), w.past(s, c, time.Hour)
		w.start()
		left(a.Name, b.Name)
	})

	// Contract: RET-1.
	It("keeps what is held by annotation, until it is not", func() {
		s := w.schedule("backup", suspended, ttl("1h"))
		c := w.claim("data")
		h := w.past(s, c, 4*time.Hour, held)
		w.past(s, c, 3*time.Hour)
		a := w.past(s, c, 2*time.Hour)
		w.start(at(4 * time.Hour))
		left(h.Name, a.Name)
		Expect(api.Patch(ctx, h, patch(`{"metadata":{"annotations":{"`+v1alpha1.AnnotationHold+`":null}}}`))).To(Succeed())
		left(a.Name)
	})

	// Contract: RET-1.
	It("keeps what a Pending PVC is being filled from", func() {
		s := w.schedule("backup", suspended, ttl("1h"), selecting("app", "shop"))
		c := w.claim("data", "app", "shop")
		source := w.past(s, c, 4*time.Hour)
		w.past(s, c, 3*time.Hour)
		a := w.past(s, c, 2*time.Hour)
		restored := &claim{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "restored"}}
		restored.Spec = *c.Spec.DeepCopy()
		restored.Spec.DataSource = &corev1.TypedLocalObjectReference{
			APIGroup: ptr.To("snapshot.storage.k8s.io"), Kind: "VolumeSnapshot", Name: source.Name}
		Expect(api.Create(ctx, restored)).To(Succeed())
		o := w.start(at(4 * time.Hour))
		left(source.Name, a.Name)
		w.phase(restored, corev1.ClaimBound)
		label(c, "look", "again")
		left(a.Name)
		o.stop()
	})

	// Contract: RET-1.
	It("does not cut off a slow upload by age", func() {
		s := w.schedule("backup", suspended, ttl("1h"))
		c := w.claim("data")
		w.past(s, c, 4*time.Hour)
		a := w.past(s, c, 3*time.Hour)
		upload := w.past(s, c, 2*time.Hour)
		cut := metav1.Now()
		setStatus(upload, snapshotv1.VolumeSnapshotStatus{CreationTime: &cut, ReadyToUse: ptr.To(false)})
		w.start(at(4 * time.Hour))
		left(a.Name, upload.Name)
	})

	// Contract: RET-8.
	It("is not misled by a driver's creation time from 1970", func() {
		s := w.schedule("backup", suspended, ttl("1h"), func(s *spec) { s.Retention.MinReady = ptr.To[int32](0) })
		other := w.schedule("other", suspended, func(s *spec) { s.Retention.MaxCount = ptr.To[int32](1) })
		c := w.claim("data")
		v := w.past(s, c, 2*time.Hour)
		epoch := metav1.Unix(0, 0)
		setStatus(v, snapshotv1.VolumeSnapshotStatus{CreationTime: &epoch, ReadyToUse: ptr.To(true)})
		own := func(v *snapshot) { v.Name += "-other" }
		w.past(other, c, 3*time.Hour, own)
		a := w.past(other, c, 2*time.Hour, own)
		w.start()
		left(v.Name, a.Name)
	})

	// Contract: ONE-7.
	It("goes on while the schedule is suspended and while creates fail", func() {
		s := w.schedule("backup", ttl("1h"))
		c := w.claim("data")
		w.past(s, c, 3*time.Hour)
		a := w.past(s, c, 2*time.Hour)
		w.start(at(4*time.Hour), refusing(creates(403)))
		left(a.Name)
	})

	Describe("of a PVC that is gone or no longer selected", func() {
		// Contract: RET-9.
		It("lets the series of one that is gone expire to the last", func() {
			s := w.schedule("backup", suspended, ttl("1h"))
			c := w.claim("data")
			w.past(s, c, 3*time.Hour)
			w.past(s, c, 2*time.Hour)
			w.remove(c)
			w.start(at(4 * time.Hour))
			left()
			Eventually(func() v1alpha1.Detached { return status(s).Detached }).Should(BeZero())
		})

		// Contract: RET-9.
		It("keeps detached.minReady of one that is gone, by a TTL of its own", func() {
			s := w.schedule("backup", suspended, ttl("1h"), func(s *spec) {
				s.Retention.Detached = v1alpha1.DetachedRetention{SnapshotTTL: "2h", MinReady: 1}
			})
			c := w.claim("data")
			w.past(s, c, 3*time.Hour)
			a := w.past(s, c, 2*time.Hour)
			w.remove(c)
			o := w.start(at(90 * time.Minute))
			Eventually(func() int32 { return status(s).Detached.VolumeSnapshots }).Should(BeEquivalentTo(2))
			Expect(o.network.of("DELETE", "volumesnapshots")).To(BeZero())
			o.stop()
			w.start(at(3 * time.Hour))
			left(a.Name)
		})

		// Contract: RET-9.
		It("keeps the usual floor of one that is there but not selected", func() {
			s := w.schedule("backup", suspended, ttl("1h"), selecting("app", "shop"))
			c := w.claim("data")
			w.past(s, c, 3*time.Hour)
			a := w.past(s, c, 2*time.Hour)
			w.start(at(4 * time.Hour))
			left(a.Name)
			w.remove(c)
			left()
		})

		// Contract: ONE-6.
		It("deletes what is uncut of one that is gone, at once", func() {
			w.schedule("backup")
			o := w.start()
			c := w.claim("data")
			v := w.first("data")
			o.stop()
			w.remove(c)
			w.start()
			Eventually(gone(v)).Should(BeTrue())
		})
	})
})
