// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// nowRFC3339 returns the current time as annotations contain it.
func nowRFC3339() string { return time.Now().UTC().Format(time.RFC3339) }

// requestOf creates a PVC and requests a snapshot of it.
func (env *environment) requestOf(s *schedule, name string) {
	GinkgoHelper()
	env.createClaim(name)
	setAnnotation(s, v1alpha1.AnnotationRequestedAt, nowRFC3339()+" "+name)
	env.waitForSnapshot(name)
}

var _ = Describe("Slots", func() {
	var env *environment
	BeforeEach(func() { env = newEnvironment() })

	// Contract: SLOT-6, SLOT-11.
	It("takes a snapshot of the PVCs that a request names, also while suspended", func() {
		s := env.createSchedule("backup", suspended)
		env.startOperator(clocksAhead(time.Minute))
		for _, name := range []string{"a", "b", "c"} {
			env.createClaim(name)
		}
		setAnnotation(s, v1alpha1.AnnotationRequestedAt, nowRFC3339()+" a,c")
		env.waitForSnapshot("a")
		env.waitForSnapshot("c")
		Eventually(readyCondition(s)).Should(Equal("True Suspended"))
		env.requestOf(s, "later") // of a new PVC: all that was requested before is taken
		Expect(env.snapshotsOf("b")).To(BeEmpty())
	})

	// Contract: API-7.
	It("reports a malformed request and takes the regular slots", func() {
		s := env.createSchedule("backup")
		env.startOperator()
		env.createClaim("a")
		makeReady(env.waitForSnapshot("a"))
		setAnnotation(s, v1alpha1.AnnotationRequestedAt, "tomorrow")
		env.createClaim("b")
		env.waitForSnapshot("b")
		Eventually(problems(s)).Should(ConsistOf(problem("", "InvalidRequestedAt", `"tomorrow"`)))
		Expect(readyCondition(s)()).To(Equal("True Scheduled"))
		Eventually(env.events).Should(ConsistOf(And(
			HavePrefix("Warning InvalidRequestedAt SnapshotSchedule/backup"), ContainSubstring(`"tomorrow"`))))
	})

	// Contract: ONE-1.
	It("takes no other snapshot of a PVC while one is in progress", func() {
		s := env.createSchedule("backup")
		o := env.startOperator()
		env.createClaim("data")
		v := env.waitForSnapshot("data")
		o.advanceClocks(30 * time.Minute)
		setAnnotation(s, v1alpha1.AnnotationRequestedAt, time.Now().Add(20*time.Minute).Format(time.RFC3339))
		env.barrier()
		Expect(env.snapshotsOf("data")).To(HaveLen(1), "one is uncut")

		cut := metav1.Now()
		setStatus(v, snapshotv1.VolumeSnapshotStatus{CreationTime: &cut, ReadyToUse: ptr.To(false)})
		Eventually(problems(s)).Should(ConsistOf(problem("data", "SnapshotSlow", "")))
		Expect(env.snapshotsOf("data")).To(HaveLen(1), "one is being uploaded")

		makeReady(v)
		env.waitForSnapshots("data", 2)
		Eventually(problems(s)).Should(BeEmpty())
	})

	// Contract: ONE-4.
	It("deletes a failed uncut snapshot at the next slot, and takes the slot that is current once it is gone", func() {
		s := env.createSchedule("backup")
		c := env.createClaim("data")
		o := env.startOperator()
		v := env.waitForSnapshot("data")
		addFinalizer(v)
		o.stop()

		o = env.startOperator(clocksAhead(90 * time.Minute)) // beyond readyDeadline, and one slot later
		Eventually(func() bool { return get(v).DeletionTimestamp != nil }).Should(BeTrue())
		Eventually(env.events).Should(ContainElement(HavePrefix("Warning SnapshotFailed SnapshotSchedule/backup: PersistentVolumeClaim data")))
		env.barrier()
		Expect(env.snapshotsOf("data")).To(HaveLen(1), "no other should be created while it is being deleted")
		o.advanceClocks(time.Hour)
		removeFinalizers(v)
		anchor := c.CreationTimestamp.UTC()
		Eventually(func() []string {
			var slots []string
			for _, v := range env.snapshotsOf("data") {
				slots = append(slots, slotOf(v))
			}
			return slots
		}).Should(Equal([]string{anchor.Add(2 * time.Hour).Format(time.RFC3339)}))
		makeReady(&env.snapshotsOf("data")[0])
		Eventually(problems(s)).ShouldNot(ContainElement(HaveField("PersistentVolumeClaim", "data")))
	})

	// Contract: ONE-6.
	It("deletes an uncut snapshot at once when its PVC is being deleted, unless it is held", func() {
		env.createSchedule("backup")
		env.startOperator()
		a, b := env.createClaim("a"), env.createClaim("b")
		v, held := env.waitForSnapshot("a"), env.waitForSnapshot("b")
		setAnnotation(held, v1alpha1.AnnotationHold, "mine")
		Expect(api.Delete(ctx, b)).To(Succeed())
		Expect(api.Delete(ctx, a)).To(Succeed())
		Eventually(isDeleted(v)).Should(BeTrue())
		Expect(isDeleted(held)()).To(BeFalse())
		Expect(get(a).DeletionTimestamp).NotTo(BeNil(), "the snapshot should be deleted before the PVC")
	})
})
