// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

var _ = Describe("The map", func() {
	var w *world
	BeforeEach(func() { w = newWorld() })

	// Contract: MAP-3, MAP-4.
	It("creates a snapshot that says what it is of, whose, and for when", func() {
		s := w.schedule("backup", func(s *spec) {
			s.SnapshotTemplate.Metadata.Labels = map[string]v1alpha1.LabelValue{"tier": "gold"}
			s.SnapshotTemplate.Metadata.Annotations = map[string]string{"note": "ours"}
			s.SnapshotTemplate.Spec.VolumeSnapshotClassName = ptr.To("fast")
		})
		w.start()
		c := w.claim("data")
		v := w.first("data")
		anchor := c.CreationTimestamp.UTC()
		Expect(v.Labels).To(Equal(map[string]string{
			"snapshots.mapcontroller.dev/map-key":  string(c.UID),
			"snapshots.mapcontroller.dev/schedule": "backup",
			"tier":                                 "gold",
		}))
		Expect(v.Annotations).To(Equal(map[string]string{
			"snapshots.mapcontroller.dev/scheduled-at": anchor.Format(time.RFC3339),
			"note": "ours",
		}))
		Expect(v.OwnerReferences).To(Equal([]metav1.OwnerReference{{
			APIVersion: "snapshots.mapcontroller.dev/v1alpha1", Kind: "SnapshotSchedule", Name: "backup", UID: s.UID,
			Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true),
		}}))
		Expect(v.Name).To(MatchRegexp(`^data-` + anchor.Format("20060102150405") + `-[a-z0-9]+$`))
		Expect(v.Spec.Source.PersistentVolumeClaimName).To(HaveValue(Equal("data")))
		Expect(v.Spec.VolumeSnapshotClassName).To(HaveValue(Equal("fast")))
	})

	// Contract: MAP-4.
	It("leaves the class to the driver's default if the template names none", func() {
		w.schedule("backup")
		w.start()
		w.claim("data")
		Expect(w.first("data").Spec.VolumeSnapshotClassName).To(BeNil())
	})

	// Contract: MAP-6.
	It("makes a valid name of the longest PVC name, with dots in it", func() {
		w.schedule("backup")
		w.start()
		name := "abc.def-ghi.jkl-mno.pqr-stu.vwx-yz0" + "." + strings.Repeat("y", 200)
		w.claim(name)
		Expect(len(w.first(name).Name)).To(BeNumerically("<=", 63))
	})

	// Contract: MAP-13, EVT-3.
	It("creates one snapshot for each PVC, and costs one write each", func() {
		w.schedule("backup")
		names := []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"}
		for _, name := range names[:5] {
			w.claim(name)
		}
		o := w.start()
		for _, name := range names[5:] {
			w.claim(name)
		}
		for _, name := range names {
			w.first(name)
		}
		w.marker()
		Expect(w.snapshots()).To(HaveLen(11))
		Expect(o.network.of("POST", "volumesnapshots")).To(Equal(11))
		Expect(o.network.of("PATCH", "volumesnapshots") + o.network.of("PUT", "volumesnapshots")).To(BeZero())
		Expect(o.network.of("POST", "events")).To(BeZero(), "a success is no event")
	})

	// Contract: MAP-1.
	It("takes every PVC of the namespace without a selector, and no other", func() {
		elsewhere := newWorld()
		elsewhere.claim("data")
		w.schedule("backup")
		w.claim("data")
		w.start()
		w.first("data")
		Expect(elsewhere.snapshots()).To(BeEmpty())
	})

	// Contract: MAP-1.
	It("takes only the PVCs that the selector matches, by labels and by expressions", func() {
		w.schedule("backup", func(s *spec) {
			s.Selector = metav1.LabelSelector{
				MatchLabels:      map[string]string{"app": "shop"},
				MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "tmp", Operator: metav1.LabelSelectorOpDoesNotExist}},
			}
		})
		w.start()
		w.claim("other", "app", "other")
		w.claim("scratch", "app", "shop", "tmp", "")
		w.claim("data", "app", "shop")
		w.first("data")
		w.marker("app", "shop")
		Expect(w.of("other")).To(BeEmpty())
		Expect(w.of("scratch")).To(BeEmpty())
	})

	// Contract: MAP-2.
	It("takes a PVC deleted and created again under its name for a new one", func() {
		s := w.schedule("backup")
		w.start()
		before := w.claim("data")
		old := w.first("data")
		makeReady(old)
		w.remove(before)
		after := w.claim("data")
		both := w.count("data", 2)
		keys := []string{both[0].Labels[v1alpha1.LabelMapKey], both[1].Labels[v1alpha1.LabelMapKey]}
		Expect(keys).To(ConsistOf(string(before.UID), string(after.UID)))
		Eventually(func() v1alpha1.Detached { return status(s).Detached }).
			Should(Equal(v1alpha1.Detached{MapKeys: 1, VolumeSnapshots: 1}))
	})

	// Contract: RET-10.
	It("detaches a PVC that is relabelled, and gives it its series back", func() {
		s := w.schedule("backup", selecting("app", "shop"))
		o := w.start()
		c := w.claim("data", "app", "shop")
		makeReady(w.first("data"))

		label(c, "app", "other")
		Eventually(func() v1alpha1.Detached { return status(s).Detached }).
			Should(Equal(v1alpha1.Detached{MapKeys: 1, VolumeSnapshots: 1}))
		Expect(status(s).Inputs.PersistentVolumeClaims.Total).To(BeZero())
		o.later(2 * time.Hour)
		annotate(s, v1alpha1.AnnotationRequestedAt, time.Now().Add(time.Second).Format(time.RFC3339)) // wakes all keys
		w.marker("app", "shop")
		Expect(w.of("data")).To(HaveLen(1), "no new snapshots of one that is detached")

		label(c, "app", "shop")
		w.count("data", 2)
		Eventually(func() v1alpha1.Detached { return status(s).Detached }).Should(BeZero())
	})

	// Contract: MAP-11.
	It("skips a PVC that is not Bound and says so, until it is", func() {
		s := w.schedule("backup")
		w.start()
		w.marker()
		c := w.pendingClaim("data")
		Eventually(func() string { return message(s) }).Should(Equal("2 PersistentVolumeClaims, 1 skipped; first data: not Bound"))
		Expect(ready(s)()).To(Equal("True Scheduled"))
		Expect(w.of("data")).To(BeEmpty())
		w.phase(c, corev1.ClaimBound)
		w.first("data")
		Eventually(func() string { return message(s) }).Should(Equal("2 PersistentVolumeClaims"))
	})

	// Contract: MAP-11.
	It("skips a PVC that is being deleted and says so", func() {
		s := w.schedule("backup")
		c := w.claim("data")
		Expect(api.Delete(ctx, c)).To(Succeed())
		w.start()
		w.marker()
		Eventually(func() string { return message(s) }).Should(Equal("2 PersistentVolumeClaims, 1 skipped; first data: being deleted"))
		Expect(w.of("data")).To(BeEmpty())
	})

	// Contract: MAP-12.
	It("ignores a PVC that the schedule itself controls, and says so", func() {
		s := w.schedule("backup")
		w.start()
		c := w.pendingClaim("data")
		Expect(api.Patch(ctx, c, patch(`{"metadata":{"ownerReferences":[{"apiVersion":"snapshots.mapcontroller.dev/v1alpha1",`+
			`"kind":"SnapshotSchedule","name":"backup","uid":"`+string(s.UID)+`","controller":true}]}}`))).To(Succeed())
		w.phase(c, corev1.ClaimBound)
		w.marker()
		Expect(w.of("data")).To(BeEmpty())
		Eventually(func() []metav1.Condition { return status(s).Conditions }).Should(ContainElement(
			HaveField("Message", ContainSubstring("1 skipped; first data: controlled by this schedule"))))
	})

	// Contract: MAP-5.
	It("maps one PVC under two schedules, with names that never meet", func() {
		w.schedule("backup")
		w.schedule("hourly")
		w.start()
		w.claim("data")
		both := w.count("data", 2)
		Expect(both[0].Labels[v1alpha1.LabelSchedule]).NotTo(Equal(both[1].Labels[v1alpha1.LabelSchedule]))
	})
})
