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

// now is the second of this instant, as annotations have it.
func now() string { return time.Now().UTC().Format(time.RFC3339) }

var _ = Describe("Slots", func() {
	var w *world
	BeforeEach(func() { w = newWorld() })

	// Contract: SLOT-1.
	It("takes one after another, at the times of the interval", func() {
		w.schedule("backup", func(s *spec) { s.SnapshotInterval = "2s" })
		w.start()
		c := w.claim("data")
		anchor := c.CreationTimestamp.UTC()
		makeReady(w.first("data"))
		makeReady(&w.count("data", 2)[1])
		third := w.count("data", 3)
		for i, v := range third {
			at, err := time.Parse(time.RFC3339, slot(v))
			Expect(err).NotTo(HaveOccurred())
			Expect(at.Sub(anchor)).To(Equal(time.Duration(i) * 2 * time.Second))
		}
	})

	// Contract: SLOT-8.
	It("takes one snapshot for any number of missed slots, for the newest", func() {
		w.schedule("backup")
		c := w.claim("data")
		w.start(at(5*time.Hour + time.Minute))
		Expect(slot(*w.first("data"))).To(Equal(c.CreationTimestamp.UTC().Add(5 * time.Hour).Format(time.RFC3339)))
		w.marker()
		Expect(w.of("data")).To(HaveLen(1))
	})

	// Contract: SLOT-2.
	It("takes cron slots in the zone of the schedule, later than the anchor only", func() {
		s := w.schedule("backup", func(s *spec) {
			s.SnapshotInterval, s.Schedule, s.TimeZone = "", "30 2 * * *", "Europe/Oslo"
		})
		w.claim("data")
		before := w.start()
		Eventually(ready(s)).Should(Equal("True Scheduled"))
		Expect(w.of("data")).To(BeEmpty(), "nothing is due before the first time of the line")
		next := status(s).NextSnapshotTime
		Expect(next).NotTo(BeNil())
		oslo, err := time.LoadLocation("Europe/Oslo")
		Expect(err).NotTo(HaveOccurred())
		Expect(next.In(oslo).Format("15:04:05")).To(Equal("02:30:00"))
		before.stop()

		w.start(at(time.Until(next.Time) + time.Second))
		Expect(slot(*w.first("data"))).To(Equal(next.UTC().Format(time.RFC3339)))
	})

	// Contract: SLOT-4.
	It("shifts a PVC's slots by an offset of its own within the jitter", func() {
		s := w.schedule("backup", func(s *spec) { s.Jitter = "50m" })
		c := w.claim("data")
		w.start(at(51 * time.Minute))
		at, err := time.Parse(time.RFC3339, slot(*w.first("data")))
		Expect(err).NotTo(HaveOccurred())
		offset := at.Sub(c.CreationTimestamp.Time)
		Expect(offset).To(And(BeNumerically(">=", 0), BeNumerically("<", 50*time.Minute)))
		Eventually(func() *metav1.Time { return status(s).NextSnapshotTime }).ShouldNot(BeNil())
		Expect(status(s).NextSnapshotTime.Sub(at)).To(Equal(time.Hour))
	})

	// Contract: SLOT-5.
	It("takes a snapshot now of all PVCs when the schedule asks for it", func() {
		s := w.schedule("backup")
		w.start(at(time.Minute))
		w.claim("a")
		w.claim("b")
		makeReady(w.first("a"))
		makeReady(w.first("b"))
		asked := time.Now().Add(30 * time.Second).UTC().Format(time.RFC3339)
		annotate(s, v1alpha1.AnnotationRequestedAt, asked)
		Expect(slot(w.count("a", 2)[1])).To(Equal(asked))
		Expect(slot(w.count("b", 2)[1])).To(Equal(asked))
		w.marker()
		Expect(w.of("a")).To(HaveLen(2))
	})

	// Contract: SLOT-6, SLOT-11.
	It("takes a snapshot now of the one PVC that asks for it, also while suspended", func() {
		s := w.schedule("backup", suspended)
		w.start(at(time.Minute))
		c := w.claim("a")
		w.claim("b")
		annotate(c, v1alpha1.AnnotationRequestedAt, now())
		w.first("a")
		Eventually(ready(s)).Should(Equal("True Suspended"))
		Expect(w.of("b")).To(BeEmpty())
	})

	// Contract: SLOT-5.
	It("takes a requested time to come when it has come", func() {
		w.schedule("backup", suspended)
		w.start()
		c := w.claim("a")
		soon := time.Now().Add(2 * time.Second).UTC().Format(time.RFC3339)
		annotate(c, v1alpha1.AnnotationRequestedAt, soon)
		Expect(slot(*w.first("a"))).To(Equal(soon))
		Expect(time.Now().UTC().Format(time.RFC3339) >= soon).To(BeTrue())
	})

	// Contract: SLOT-7.
	It("ignores a request from before the PVC was there", func() {
		s := w.schedule("backup", suspended)
		annotate(s, v1alpha1.AnnotationRequestedAt, "2020-01-01T00:00:00Z")
		w.claim("a")
		w.start()
		Eventually(ready(s)).Should(Equal("True Suspended"))
		annotate(w.claim("b"), v1alpha1.AnnotationRequestedAt, now())
		w.first("b")
		Expect(w.of("a")).To(BeEmpty())
	})

	// Contract: API-7.
	It("reports a malformed request and goes on", func() {
		s := w.schedule("backup")
		w.start()
		w.claim("a")
		makeReady(w.first("a"))
		annotate(s, v1alpha1.AnnotationRequestedAt, "tomorrow")
		b := w.claim("b")
		annotate(b, v1alpha1.AnnotationRequestedAt, "at noon")
		w.first("b")
		Eventually(func() []v1alpha1.Problem { return status(s).Problems }).Should(ConsistOf(
			And(HaveField("PersistentVolumeClaim", ""), HaveField("Reason", "InvalidRequestedAt"), HaveField("Message", ContainSubstring(`"tomorrow"`))),
			And(HaveField("PersistentVolumeClaim", "b"), HaveField("Reason", "InvalidRequestedAt"), HaveField("Message", ContainSubstring(`"at noon"`))),
		))
		Expect(ready(s)()).To(Equal("True Scheduled"))
		Eventually(w.events).Should(ConsistOf(
			And(HavePrefix("Warning InvalidRequestedAt SnapshotSchedule/backup"), ContainSubstring(`"tomorrow"`)),
			And(HavePrefix("Warning InvalidRequestedAt SnapshotSchedule/backup: PersistentVolumeClaim b"), ContainSubstring(`"at noon"`)),
		))
	})

	// Contract: SLOT-9.
	It("takes no slot that is too late by startingDeadline or snapshotTTL", func() {
		w.schedule("late", func(s *spec) { s.StartingDeadline = "5m" })
		w.schedule("short", func(s *spec) { s.SnapshotTTL = "5m" })
		w.schedule("patient")
		w.claim("data")
		w.start(at(10 * time.Minute))
		v := w.first("data")
		Expect(v.Labels[v1alpha1.LabelSchedule]).To(Equal("patient"))
		w.schedule("other")
		w.count("data", 2)
	})

	// Contract: ONE-1.
	It("takes no other snapshot of a PVC while one is under way", func() {
		s := w.schedule("backup")
		o := w.start()
		c := w.claim("data")
		v := w.first("data")
		o.later(30 * time.Minute)
		annotate(c, v1alpha1.AnnotationRequestedAt, time.Now().Add(20*time.Minute).Format(time.RFC3339))
		w.marker()
		Expect(w.of("data")).To(HaveLen(1), "one is uncut")

		cut := metav1.Now()
		setStatus(v, snapshotv1.VolumeSnapshotStatus{CreationTime: &cut, ReadyToUse: ptr.To(false)})
		Eventually(func() []v1alpha1.Problem { return status(s).Problems }).Should(ConsistOf(
			And(HaveField("PersistentVolumeClaim", "data"), HaveField("Reason", "SnapshotSlow"))))
		Expect(w.of("data")).To(HaveLen(1), "one is uploading")

		makeReady(v)
		w.count("data", 2)
		Eventually(func() []v1alpha1.Problem { return status(s).Problems }).Should(BeEmpty())
	})

	// Contract: ONE-2.
	It("is not held up by a snapshot that is cut and in error", func() {
		w.schedule("backup")
		w.start(at(time.Minute))
		c := w.claim("data")
		v := w.first("data")
		cut := metav1.Now()
		setStatus(v, snapshotv1.VolumeSnapshotStatus{CreationTime: &cut, Error: &snapshotv1.VolumeSnapshotError{Message: ptr.To("away")}})
		annotate(c, v1alpha1.AnnotationRequestedAt, time.Now().Add(30*time.Second).Format(time.RFC3339))
		w.count("data", 2)
	})

	// Contract: ONE-4.
	It("replaces an uncut snapshot that failed: deletes it, waits until it is gone, takes the slot of then", func() {
		s := w.schedule("backup")
		c := w.claim("data")
		o := w.start()
		v := w.first("data")
		Expect(api.Patch(ctx, v, patch(`{"metadata":{"finalizers":["test/hold"]}}`))).To(Succeed())
		o.stop()

		o = w.start(at(90 * time.Minute)) // beyond readyDeadline, and one slot later
		Eventually(func() bool { return get(v).DeletionTimestamp != nil }).Should(BeTrue())
		Eventually(w.events).Should(ContainElement(HavePrefix("Warning SnapshotFailed SnapshotSchedule/backup: PersistentVolumeClaim data")))
		w.marker()
		Expect(w.of("data")).To(HaveLen(1), "while it is on its way out there is no other")
		o.later(time.Hour)
		Expect(api.Patch(ctx, v, patch(`{"metadata":{"finalizers":null}}`))).To(Succeed())
		anchor := c.CreationTimestamp.UTC()
		Eventually(func() []string {
			var slots []string
			for _, v := range w.of("data") {
				slots = append(slots, slot(v))
			}
			return slots
		}).Should(Equal([]string{anchor.Add(2 * time.Hour).Format(time.RFC3339)}))
		makeReady(&w.of("data")[0])
		Eventually(func() []v1alpha1.Problem { return status(s).Problems }).
			ShouldNot(ContainElement(HaveField("PersistentVolumeClaim", "data")))
	})

	// Contract: ONE-3.
	It("keeps an uncut snapshot that failed until the next slot, and says that it failed", func() {
		s := w.schedule("backup", func(s *spec) { s.SnapshotInterval, s.ReadyDeadline = "1d", "2s" })
		w.start()
		w.claim("data")
		v := w.first("data")
		Eventually(ready(s)).Should(Equal("False SnapshotsFailing"))
		Expect(message(s)).To(HavePrefix("1 of 1 PersistentVolumeClaim failing; first data: SnapshotFailed: "))
		Expect(w.names()).To(Equal([]string{v.Name}))
		Expect(status(s).Problems).To(ConsistOf(And(
			HaveField("PersistentVolumeClaim", "data"), HaveField("Reason", "SnapshotFailed"), HaveField("Message", ContainSubstring(v.Name)))))
	})

	// Contract: ONE-6.
	It("deletes an uncut snapshot at once when its PVC is being deleted, and a held one never", func() {
		w.schedule("backup")
		w.start()
		a, b := w.claim("a"), w.claim("b")
		v, held := w.first("a"), w.first("b")
		annotate(held, v1alpha1.AnnotationHold, "mine")
		Expect(api.Delete(ctx, b)).To(Succeed())
		Expect(api.Delete(ctx, a)).To(Succeed())
		Eventually(gone(v)).Should(BeTrue())
		Expect(gone(held)()).To(BeFalse())
		Expect(get(a).DeletionTimestamp).NotTo(BeNil(), "the PVC was not gone before")
	})

	// Contract: STAT-5.
	It("tells that a PVC is overdue", func() {
		s := w.schedule("backup", func(s *spec) { s.StartingDeadline = "5m" })
		w.claim("data")
		w.start(at(70 * time.Minute))
		Eventually(ready(s)).Should(Equal("False SnapshotsFailing"))
		Expect(status(s).Problems).To(ConsistOf(HaveField("Reason", "SnapshotOverdue")))
	})

	// Contract: STAT-5.
	It("says nothing is overdue of a PVC that is not Bound", func() {
		s := w.schedule("backup", func(s *spec) { s.StartingDeadline = "5m" })
		c := w.claim("data")
		w.phase(c, corev1.ClaimLost)
		w.start(at(70 * time.Minute))
		Eventually(ready(s)).Should(Equal("True Scheduled"))
		Expect(status(s).Problems).To(BeEmpty())
	})
})
