// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/internal/builders"
)

// requestedAt returns the time that was requested.
func requestedAt(o client.Object) time.Time {
	GinkgoHelper()
	at, err := time.Parse(time.RFC3339, get(o).GetAnnotations()[v1alpha1.AnnotationRequestedAt])
	Expect(err).NotTo(HaveOccurred())
	return at
}

// take does what the operator does for a request: it creates a snapshot, which is not cut yet.
func take(s *v1alpha1.SnapshotSchedule, c *corev1.PersistentVolumeClaim, slot time.Time) *snapshotv1.VolumeSnapshot {
	GinkgoHelper()
	v := builders.Snapshot(s, c, slot)
	Expect(api.Create(ctx, v)).To(Succeed())
	return v
}

// report does what the snapshot controller does.
func report(v *snapshotv1.VolumeSnapshot, status snapshotv1.VolumeSnapshotStatus) {
	GinkgoHelper()
	v = get(v)
	v.Status = &status
	Expect(api.Status().Update(ctx, v)).To(Succeed())
}

var isReady = snapshotv1.VolumeSnapshotStatus{CreationTime: ptr.To(metav1.Now()), ReadyToUse: ptr.To(true)}

var _ = Describe("snapshot", func() {
	var (
		env      *environment
		schedule *v1alpha1.SnapshotSchedule
	)
	BeforeEach(func() {
		env = newEnvironment()
		spec := hourly
		spec.Suspend = true
		spec.Selector.MatchLabels = map[string]v1alpha1.LabelValue{"app": "db"}
		schedule = env.createSchedule("nightly", spec)
	})

	It("requests one of every PVC of a schedule, with the API server's time", func() {
		env.createClaim("data-0", "app", "db")
		env.createClaim("data-1", "app", "db")
		env.createClaim("other")
		pending := builders.Claim(env.namespace, "pending", map[string]string{"app": "db"})
		Expect(api.Create(ctx, pending)).To(Succeed())
		before := ago(0)
		r := env.run("snapshot", "nightly")
		Expect(r).To(Equal(result{0, "snapshotschedule.snapshots.mapcontroller.dev/nightly requested 2 snapshots\n",
			"Warning: SnapshotSchedule nightly skips PersistentVolumeClaim pending: not Bound\n"}))
		Expect(requestedAt(schedule)).To(And(BeTemporally(">=", before), BeTemporally("<=", time.Now())))
	})

	It("requests one of a PVC under each schedule that selects it", func() {
		claim := env.createClaim("data-0", "app", "db")
		env.createSchedule("weekly", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "1w"})
		other := hourly
		other.Selector.MatchLabels = map[string]v1alpha1.LabelValue{"app": "other"}
		env.createSchedule("other", other)
		env.createSchedule("invalid", v1alpha1.SnapshotScheduleSpec{Schedule: "0 0 30 2 *"})
		before := ago(0)
		r := env.run("snapshot", "--pvc", "data-0")
		Expect(r.out).To(Equal("persistentvolumeclaim/data-0 requested 2 snapshots\n"))
		Expect(r.errOut).To(HavePrefix("Warning: SnapshotSchedule invalid takes no snapshots, because its spec is invalid: spec.schedule: "))
		Expect(requestedAt(claim)).To(And(BeTemporally(">=", before), BeTemporally("<=", time.Now())))
	})

	It("says that it replaces a request for later", func() {
		env.createClaim("data-0", "app", "db")
		later := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
		schedule.Annotations = map[string]string{v1alpha1.AnnotationRequestedAt: later}
		put(time.Time{}, schedule)
		Expect(env.run("snapshot", "nightly").errOut).To(Equal("Warning: this replaces the request for " + later + "\n"))
	})

	DescribeTable("refuses a request that no snapshot would follow",
		func(want string, args ...string) {
			env.createClaim("other")
			env.createSchedule("invalid", v1alpha1.SnapshotScheduleSpec{Schedule: "0 0 30 2 *"})
			r := env.run(append([]string{"snapshot"}, args...)...)
			Expect(r.code).To(Equal(2))
			Expect(r.errOut).To(ContainSubstring(want))
			Expect(get(schedule).Annotations).NotTo(HaveKey(v1alpha1.AnnotationRequestedAt))
		},
		Entry("of a schedule that selects nothing", "SnapshotSchedule nightly selects no PVC that can be snapshotted", "nightly"),
		Entry("of a schedule with an invalid spec", "SnapshotSchedule invalid takes no snapshots, because its spec is invalid", "invalid"),
		Entry("of a PVC that no schedule selects", "no SnapshotSchedule would take a snapshot of PersistentVolumeClaim other", "--pvc", "other"),
		Entry("of a PVC that does not exist", `persistentvolumeclaims "missing" not found`, "--pvc", "missing"),
		Entry("of nothing", "name either a schedule or, with --pvc, a PVC"),
		Entry("of a schedule and a PVC", "name either a schedule or, with --pvc, a PVC", "nightly", "--pvc", "other"),
	)

	It("with --wait, follows the snapshots until they are ready", func() {
		first, second := env.createClaim("data-0", "app", "db"), env.createClaim("data-1", "app", "db")
		busy := take(schedule, second, ago(time.Minute))
		ended := make(chan result)
		watching, proxied := interceptWatch()
		go func() {
			defer GinkgoRecover()
			ended <- env.runWith(proxied, "", "snapshot", "nightly", "--wait")
		}()
		Eventually(watching).Should(BeClosed())
		at := requestedAt(schedule)
		v := take(schedule, first, at)
		report(v, snapshotv1.VolumeSnapshotStatus{Error: &snapshotv1.VolumeSnapshotError{Message: ptr.To("try again")}})
		report(v, snapshotv1.VolumeSnapshotStatus{CreationTime: ptr.To(metav1.Now())})
		report(busy, isReady)
		w := take(schedule, second, at)
		report(v, isReady)
		Consistently(ended, "300ms").ShouldNot(Receive(), "one of two is ready")
		report(w, isReady)
		var r result
		Eventually(ended).Should(Receive(&r))
		Expect(r.code).To(BeZero(), r.errOut)
		Expect(r.out).To(Equal("snapshotschedule.snapshots.mapcontroller.dev/nightly requested 2 snapshots\n" +
			"volumesnapshot.snapshot.storage.k8s.io/" + v.Name + " ready\n" +
			"volumesnapshot.snapshot.storage.k8s.io/" + w.Name + " ready\n"))
		Expect(r.errOut).To(And(
			ContainSubstring("data-1: "+busy.Name+" is in progress, and the next one is taken after it\n"),
			ContainSubstring("data-0: "+v.Name+" is not ready: try again\n"),
			ContainSubstring("data-0: "+v.Name+" is cut, and not ready to use yet\n"),
			ContainSubstring("data-1: "+w.Name+" is created, and not cut yet\n")))
	})

	It("with --wait, ends at the timeout and says what it waited for, and what the operator reports", func() {
		env.createClaim("data-0", "app", "db")
		r := env.run("snapshot", "nightly", "--wait", "--timeout", "1s")
		Expect(r.code).To(Equal(2))
		Expect(r.errOut).To(Equal("Waiting for 1 PVC: data-0\n" +
			"SnapshotSchedule nightly has no status: does the operator run?\n" +
			"error: timed out after 1s: no ready snapshot of data-0\n"))

		s := get(schedule)
		s.Status.Conditions = []metav1.Condition{{
			Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonSnapshotsFailing,
			Message: "quota exceeded", LastTransitionTime: metav1.Now(),
		}}
		Expect(api.Status().Update(ctx, s)).To(Succeed())
		r = env.run("snapshot", "nightly", "--wait", "--timeout", "1s")
		Expect(r.errOut).To(ContainSubstring("SnapshotSchedule nightly is not ready: SnapshotsFailing: quota exceeded\n"))
	})

	It("with --wait, does not take another's snapshot for the schedule's", func() {
		claim := env.createClaim("data-0", "app", "db")
		v := builders.Snapshot(schedule, claim, time.Now().Add(time.Minute))
		v.OwnerReferences[0].UID = "somebody-else"
		Expect(api.Create(ctx, v)).To(Succeed())
		report(v, isReady)
		Expect(env.run("snapshot", "nightly", "--wait", "--timeout", "1s").code).To(Equal(2))
	})
})
