// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

var _ = Describe("The map from PVCs to snapshots", func() {
	var env *environment
	BeforeEach(func() { env = newEnvironment() })

	// Contract: MAP-3, MAP-4.
	It("creates a snapshot with the labels, annotations, owner, class and source of its schedule and PVC", func() {
		s := env.createSchedule("backup", func(s *spec) {
			s.SnapshotTemplate.Metadata.Labels = map[string]v1alpha1.LabelValue{"tier": "gold"}
			s.SnapshotTemplate.Metadata.Annotations = map[string]string{"note": "ours"}
			s.SnapshotTemplate.Spec.VolumeSnapshotClassName = ptr.To("fast")
		})
		env.startOperator()
		c := env.createClaim("data")
		v := env.waitForSnapshot("data")
		anchor := c.CreationTimestamp.UTC()
		Expect(v.Labels).To(Equal(map[string]string{
			"snapshots.mapcontroller.dev/map-key":               string(c.UID),
			"snapshots.mapcontroller.dev/schedule":              "backup",
			"snapshots.mapcontroller.dev/persistentvolumeclaim": "data",
			"tier": "gold",
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

	// Contract: MAP-13, EVT-3.
	It("creates one snapshot for each PVC, with one API write each", func() {
		env.createSchedule("backup")
		names := []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"}
		for _, name := range names[:5] {
			env.createClaim(name)
		}
		o := env.startOperator()
		for _, name := range names[5:] {
			env.createClaim(name)
		}
		for _, name := range names {
			env.waitForSnapshot(name)
		}
		env.barrier()
		Expect(env.snapshots()).To(HaveLen(11))
		Eventually(func() int { return o.network.count("POST", "volumesnapshots") }).Should(Equal(11), "a request is recorded after its response")
		Expect(o.network.count("PATCH", "volumesnapshots") + o.network.count("PUT", "volumesnapshots")).To(BeZero())
		Expect(o.network.count("POST", "events")).To(BeZero(), "a success should raise no event")
	})

	// Contract: MAP-2.
	It("starts a new series for a PVC that is deleted and created again under its name", func() {
		s := env.createSchedule("backup")
		env.startOperator()
		before := env.createClaim("data")
		old := env.waitForSnapshot("data")
		makeReady(old)
		deleteClaim(before)
		after := env.createClaim("data")
		both := env.waitForSnapshots("data", 2)
		keys := []string{both[0].Labels[v1alpha1.LabelMapKey], both[1].Labels[v1alpha1.LabelMapKey]}
		Expect(keys).To(ConsistOf(string(before.UID), string(after.UID)))
		Eventually(detached(s)).
			Should(Equal(v1alpha1.Detached{MapKeys: 1, VolumeSnapshots: 1}))
	})

	// Contract: RET-10.
	It("detaches the series of a PVC that is relabeled, and resumes it when the label is set back", func() {
		s := env.createSchedule("backup", selecting("app", "shop"))
		o := env.startOperator()
		c := env.createClaim("data", "app", "shop")
		makeReady(env.waitForSnapshot("data"))

		setLabel(c, "app", "other")
		Eventually(detached(s)).
			Should(Equal(v1alpha1.Detached{MapKeys: 1, VolumeSnapshots: 1}))
		Expect(selected(s)).To(BeZero())
		o.advanceClocks(2 * time.Hour)
		setAnnotation(s, v1alpha1.AnnotationRequestedAt, time.Now().Add(time.Second).Format(time.RFC3339)) // requeues all keys
		env.barrier("app", "shop")
		Expect(env.snapshotsOf("data")).To(HaveLen(1), "a detached series should get no new snapshots")

		setLabel(c, "app", "shop")
		env.waitForSnapshots("data", 2)
		Eventually(detached(s)).Should(BeZero())
	})
})
