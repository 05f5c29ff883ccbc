// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
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
	"mapcontroller.dev/snapshotschedule/test/internal/suite"
)

// requested returns what was requested.
func requested(s *v1alpha1.SnapshotSchedule) v1alpha1.Request {
	GinkgoHelper()
	return suite.Must(v1alpha1.RequestOf(get(s).Annotations))
}

// requestedAt returns the time that was requested.
func requestedAt(s *v1alpha1.SnapshotSchedule) time.Time {
	GinkgoHelper()
	return requested(s).At
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
		s := get(schedule)
		s.Status.ObservedGeneration = s.Generation
		s.Status.Problems = []v1alpha1.Problem{{
			PersistentVolumeClaim: "data-1", Reason: v1alpha1.ReasonWrongSnapshotClass, Message: "the operator may not", SinceTime: metav1.NewTime(ago(15*time.Minute + 5*time.Second)),
		}}
		Expect(api.Status().Update(ctx, s)).To(Succeed())
		before := ago(0)
		r := env.run("snapshot", "nightly")
		Expect(r).To(Equal(result{0, "snapshotschedule.snapshots.mapcontroller.dev/nightly requested 2 snapshots\n",
			"Warning: SnapshotSchedule nightly reports of PersistentVolumeClaim data-1: WrongSnapshotClass (for 15m): the operator may not\n" +
				"Warning: SnapshotSchedule nightly skips PersistentVolumeClaim pending: not Bound\n"}))
		Expect(requestedAt(schedule)).To(And(BeTemporally(">", before), BeTemporally("<=", time.Now().Add(time.Second))))
	})

	It("requests one of a PVC under each schedule that selects it", func() {
		claim := env.createClaim("data-0", "app", "db")
		weekly := env.createSchedule("weekly", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "1w"})
		other := hourly
		other.Selector.MatchLabels = map[string]v1alpha1.LabelValue{"app": "other"}
		unselected := env.createSchedule("other", other)
		env.createSchedule("invalid", v1alpha1.SnapshotScheduleSpec{Schedule: "0 0 30 2 *"})
		before := ago(0)
		r := env.run("snapshot", "--pvc", "data-0")
		Expect(r.out).To(Equal("snapshotschedule.snapshots.mapcontroller.dev/nightly requested 1 snapshot\n" +
			"snapshotschedule.snapshots.mapcontroller.dev/weekly requested 1 snapshot\n"))
		Expect(r.errOut).To(HavePrefix("Warning: SnapshotSchedule invalid takes no snapshots, because its spec is invalid: spec.schedule: "))
		for _, s := range []*v1alpha1.SnapshotSchedule{schedule, weekly} {
			Expect(requested(s).Claims).To(Equal([]string{"data-0"}))
			Expect(requested(s).At).To(And(BeTemporally(">", before), BeTemporally("<=", time.Now().Add(time.Second))))
		}
		Expect(get(unselected).Annotations).NotTo(HaveKey(v1alpha1.AnnotationRequestedAt))
		Expect(get(claim).Annotations).NotTo(HaveKey(v1alpha1.AnnotationRequestedAt))
	})

	// Contract: SLOT-14.
	It("keeps the PVCs of a request of the same minute that still wait for their snapshot", func() {
		for _, name := range []string{"data-0", "data-1", "data-2"} {
			env.createClaim(name, "app", "db")
		}
		env.succeeds("snapshot", "--pvc", "data-1")
		env.succeeds("snapshot", "--pvc", "data-0")
		Expect(requested(schedule).Claims).To(Equal([]string{"data-0", "data-1"}))

		take(schedule, get(builders.Claim(env.namespace, "data-1", nil)), requestedAt(schedule))
		env.succeeds("snapshot", "--pvc", "data-2")
		Expect(requested(schedule).Claims).To(Equal([]string{"data-0", "data-2"}), "data-1 has its snapshot")

		env.succeeds("snapshot", "nightly")
		Expect(requested(schedule).Claims).To(BeEmpty())
		claims := &corev1.PersistentVolumeClaimList{}
		Expect(api.List(ctx, claims, client.InNamespace(env.namespace))).To(Succeed())
		at := requestedAt(schedule).Add(time.Second)
		for i := range claims.Items[:2] {
			take(schedule, &claims.Items[i], at)
		}
		Eventually(time.Now).Should(BeTemporally(">=", at))
		env.succeeds("snapshot", "--pvc", "data-0")
		Expect(requested(schedule).Claims).To(Equal([]string{"data-0", "data-2"}), "data-2 still waits for the request for all")
	})

	// Contract: SLOT-14.
	It("serves everybody who requests at the same time", func() {
		var people []chan result
		for i := range 5 {
			env.createClaim(fmt.Sprint("data-", i), "app", "db")
		}
		for i := range 5 {
			people = append(people, env.start("snapshot", "--pvc", fmt.Sprint("data-", i)))
		}
		for _, ended := range people {
			awaitSuccess(ended)
		}
		Expect(requested(schedule).Claims).To(Equal([]string{"data-0", "data-1", "data-2", "data-3", "data-4"}))
	})

	It("says that requests of a ClusterSnapshotSchedule's schedule do not count", func() {
		env.createClaim("data-0", "app", "db")
		schedule.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: v1alpha1.GroupVersion.String(), Kind: "ClusterSnapshotSchedule", Name: "fleet", UID: "fleet-uid", Controller: ptr.To(true),
		}}
		put(time.Time{}, schedule)
		const told = "SnapshotSchedule nightly belongs to ClusterSnapshotSchedule fleet, and takes snapshots on its requests only: " +
			"use kubectl snapsched snapshot --cluster-schedule fleet"
		schedule.Labels = map[string]string{"backup": "gold"}
		put(time.Time{}, schedule)
		Expect(env.fails("snapshot", "nightly")).To(ContainSubstring(told))
		Expect(env.exits(1, "snapshot", "-l", "backup=gold")).To(And(ContainSubstring(told), ContainSubstring("1 SnapshotSchedule left out")))
		Expect(env.exits(1, "snapshot", "--pvc", "data-0")).To(ContainSubstring(told), "no schedule takes one of it")
		Expect(get(schedule).Annotations).NotTo(HaveKey(v1alpha1.AnnotationRequestedAt))
	})

	It("says that it replaces a request for later", func() {
		env.createClaim("data-0", "app", "db")
		later := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
		schedule.Annotations = map[string]string{v1alpha1.AnnotationRequestedAt: later}
		put(time.Time{}, schedule)
		Expect(env.run("snapshot", "nightly").errOut).To(Equal("Warning: this replaces the request for " + later + "\n"))
	})

	It("requests those of all schedules that a selector matches, and with --wait=cut waits until they are cut", func() {
		other := newEnvironment()
		label := map[string]string{"backup": env.namespace}
		for _, e := range []*environment{env, other} {
			s := builders.Schedule(e.namespace, "gold", hourly)
			s.Labels = label
			Expect(api.Create(ctx, s)).To(Succeed())
			e.createClaim("data")
		}
		ended := env.startWatching("snapshot", "-A", "-l", "backup="+env.namespace, "--wait=cut")
		var names []string
		for i, e := range []*environment{env, other} {
			s, c := get(builders.Schedule(e.namespace, "gold", hourly)), get(builders.Claim(e.namespace, "data", nil))
			early := take(s, c, requestedAt(s).Add(-time.Second))
			report(early, isReady)
			if i == 1 {
				Consistently(ended, "300ms").ShouldNot(Receive(), "one of two is cut, and the other was cut before the request")
			}
			v := take(s, c, requestedAt(s))
			report(v, snapshotv1.VolumeSnapshotStatus{CreationTime: ptr.To(metav1.Now())})
			names = append(names, v.Name)
		}
		Expect(awaitSuccess(ended).out).To(And(ContainSubstring("gold requested 1 snapshot in namespace "+other.namespace),
			ContainSubstring(names[0]+" cut\n"), ContainSubstring(names[1]+" cut\n")))
		Expect(get(schedule).Annotations).NotTo(HaveKey(v1alpha1.AnnotationRequestedAt))
		gold := get(builders.Schedule(env.namespace, "gold", hourly))
		Eventually(time.Now).Should(BeTemporally(">=", requestedAt(gold)), "else the next request is for the same second")
		Expect(env.exits(3, "snapshot", "-l", "backup", "--wait=cut", "--timeout", "5s")).To(ContainSubstring("no cut snapshot of data"))
	})

	It("does nothing where a selector matches no schedule, or one without a PVC", func() {
		Expect(env.run("snapshot", "-l", "app=new", "--wait")).To(
			Equal(result{0, "", "No resources found in " + env.namespace + " namespace.\n"}))
		Expect(env.run("snapshot", "-l", "!app", "--wait")).To(
			Equal(result{0, "", "Warning: SnapshotSchedule nightly selects no PVC that can be snapshotted\n"}))
	})

	It("requests those of a ClusterSnapshotSchedule in the namespaces that it selects", func() {
		spec := hourly
		spec.DeletionPolicy = v1alpha1.DeletionOrphan
		fleet := env.createFleet(spec)
		var child *v1alpha1.SnapshotSchedule
		unselected := newEnvironment()
		for _, e := range []*environment{unselected, env} {
			child = builders.Schedule(e.namespace, fleet.Name, hourly)
			child.Labels = map[string]string{v1alpha1.LabelClusterSchedule: fleet.Name}
			child.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(fleet, v1alpha1.GroupVersion.WithKind("ClusterSnapshotSchedule"))}
			Expect(api.Create(ctx, child)).To(Succeed())
			e.createClaim("data")
		}
		ended := env.startWatching("snapshot", "--cluster-schedule", fleet.Name, "--wait")
		Expect(get(child).Annotations).NotTo(HaveKey(v1alpha1.AnnotationRequestedAt), "the operator hands it on")
		request := suite.Must(v1alpha1.RequestOf(get(fleet).Annotations))
		v := take(child, get(builders.Claim(env.namespace, "data", nil)), request.At)
		report(v, isReady)
		Expect(awaitSuccess(ended).out).To(Equal("clustersnapshotschedule.snapshots.mapcontroller.dev/" + fleet.Name + " requested 1 snapshot\n" +
			"volumesnapshot.snapshot.storage.k8s.io/" + v.Name + " ready\n"))
	})

	DescribeTable("refuses a request that no snapshot would follow",
		func(code int, want string, args ...string) {
			env.createClaim("other")
			env.createSchedule("invalid", v1alpha1.SnapshotScheduleSpec{Schedule: "0 0 30 2 *"})
			Expect(env.exits(code, append([]string{"snapshot"}, args...)...)).To(ContainSubstring(want))
			Expect(get(schedule).Annotations).NotTo(HaveKey(v1alpha1.AnnotationRequestedAt))
		},
		Entry("of a schedule that selects nothing", 1, "SnapshotSchedule nightly selects no PVC that can be snapshotted", "nightly"),
		Entry("of a schedule with an invalid spec", 1, "SnapshotSchedule invalid takes no snapshots, because its spec is invalid", "invalid"),
		Entry("of a PVC that no schedule selects", 1, "no SnapshotSchedule would take a snapshot of PersistentVolumeClaim other", "--pvc", "other"),
		Entry("of a PVC that does not exist", 2, `persistentvolumeclaims "missing" not found`, "--pvc", "missing"),
		Entry("of a schedule that does not exist", 2, `snapshotschedules.snapshots.mapcontroller.dev "missing" not found`, "missing"),
		Entry("of nothing, where there are two", 2, "has invalid, nightly"),
		Entry("of a schedule and a PVC", 2, "specify only one of NAME, --pvc, -l and --cluster-schedule", "nightly", "--pvc", "other"),
	)

	It("with --wait, follows the snapshots until they are ready", func() {
		first, second := env.createClaim("data-0", "app", "db"), env.createClaim("data-1", "app", "db")
		busy := take(schedule, second, ago(time.Minute))
		ended := env.startWatching("snapshot", "nightly", "--wait")
		at := requestedAt(schedule)
		v := take(schedule, first, at)
		report(v, snapshotv1.VolumeSnapshotStatus{Error: &snapshotv1.VolumeSnapshotError{Message: ptr.To("try again")}})
		report(v, snapshotv1.VolumeSnapshotStatus{CreationTime: ptr.To(metav1.Now())})
		report(busy, isReady)
		w := take(schedule, second, at)
		report(v, isReady)
		Consistently(ended, "300ms").ShouldNot(Receive(), "one of two is ready")
		report(w, isReady)
		r := awaitSuccess(ended)
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
		// Its reads count, too, and a busy machine takes a second for them. After 3 s it says for the first time what it waits for.
		const timeout = "5s"
		Expect(env.exits(3, "snapshot", "nightly", "--wait", "--timeout", timeout)).To(MatchRegexp("^(Waiting for 1 of 1 PVC: data-0\n)+" +
			"SnapshotSchedule nightly has no status: does the operator run\\?\n" +
			"error: timed out after 5s: no ready snapshot of data-0\n$"))

		s := get(schedule)
		s.Status.Conditions = []metav1.Condition{{
			Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonSnapshotsFailing,
			Message: "quota exceeded", LastTransitionTime: metav1.Now(),
		}}
		Expect(api.Status().Update(ctx, s)).To(Succeed())
		Expect(env.exits(3, "snapshot", "nightly", "--wait", "--timeout", timeout)).To(
			ContainSubstring("SnapshotSchedule nightly is not ready: SnapshotsFailing: quota exceeded\n"))

		answered := s.Status.Conditions[0]
		answered.Status = metav1.ConditionTrue
		s = get(schedule)
		s.Status.Conditions = []metav1.Condition{answered} // which an operator wrote that may be dead
		Expect(api.Status().Update(ctx, s)).To(Succeed())
		Expect(env.exits(3, "snapshot", "nightly", "--wait", "--timeout", timeout)).To(
			ContainSubstring("SnapshotSchedule nightly has not answered the request. What it waits for, and whether the operator " +
				"shows a sign of life: kubectl snapsched status nightly -n " + env.namespace + "\n"))
	})

	It("with --wait, does not take another's snapshot for the schedule's", func() {
		claim := env.createClaim("data-0", "app", "db")
		v := builders.Snapshot(schedule, claim, time.Now().Add(time.Minute))
		v.OwnerReferences[0].UID = "somebody-else"
		Expect(api.Create(ctx, v)).To(Succeed())
		report(v, isReady)
		Expect(env.run("snapshot", "nightly", "--wait", "--timeout", "1s").code).To(Equal(3))
	})
})
