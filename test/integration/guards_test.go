// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"net/http"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

func retentionPaused(s *schedule) func() string {
	return condition(s, v1alpha1.ConditionRetentionPaused)
}

var _ = Describe("The guards before a delete", func() {
	var env *environment
	BeforeEach(func() { env = newEnvironment() })

	// startWithSeries creates a PVC with three snapshots, oldest first, and starts the operator. With a TTL of an hour, two of them
	// expire when the clocks are advanced.
	startWithSeries := func(changes ...func(*spec)) (s *schedule, c *claim, all []*snapshot, o *operator) {
		GinkgoHelper()
		s = env.createSchedule("backup", append([]func(*spec){suspended, ttl("1h")}, changes...)...)
		c = env.createClaim("data", "app", "shop")
		for _, ago := range []time.Duration{3 * time.Hour, 2 * time.Hour, time.Hour} {
			all = append(all, env.createSnapshot(s, c, ago))
		}
		o = env.startOperator()
		Eventually(func() int32 { return status(s).Outputs.VolumeSnapshots.Ready }).Should(BeEquivalentTo(3))
		return s, c, all, o
	}
	names := func(all ...*snapshot) (names []string) {
		for _, v := range all {
			names = append(names, v.Name)
		}
		return names
	}
	getsOf := func(o *operator, object client.Object, resource string) func() int {
		return func() int {
			return len(o.network.find(func(r request) bool {
				return r.method == "GET" && !r.isWatch() && strings.HasSuffix(r.path, "/"+resource+"/"+object.GetName())
			}))
		}
	}

	// Contract: GUARD-1.
	It("deletes no snapshot that changed since the cached version", func() {
		_, c, all, o := startWithSeries()
		o.network.freeze("volumesnapshots")
		setAnnotation(all[0], v1alpha1.AnnotationHold, "")
		o.advanceClocks(4 * time.Hour)
		requeue(c)
		Eventually(isDeleted(all[1])).Should(BeTrue())
		Eventually(o.network.deletes).Should(BeNumerically(">=", 2))
		Expect(isDeleted(all[0])()).To(BeFalse(), "the precondition should fail")
		o.network.thaw("volumesnapshots")
		Eventually(env.snapshotNames).Should(ConsistOf(names(all[0], all[2])))
	})

	// Contract: GUARD-4.
	It("deletes nothing if a live read shows that the floor is no longer ready", func() {
		_, c, all, o := startWithSeries()
		o.network.freeze("volumesnapshots")
		setStatus(all[2], snapshotv1.VolumeSnapshotStatus{CreationTime: ptr.To(metav1.Now()), ReadyToUse: ptr.To(false)})
		o.advanceClocks(4 * time.Hour)
		requeue(c)
		Eventually(getsOf(o, all[2], "volumesnapshots")).Should(BeNumerically(">", 0))
		Eventually(getsOf(o, all[2], "volumesnapshots")).Should(BeNumerically(">", 1), "the key should be requeued")
		Expect(o.network.deletes()).To(BeZero())
		o.network.thaw("volumesnapshots")
		Eventually(env.snapshotNames).Should(ConsistOf(names(all[1], all[2])))
	})

	// Contract: GUARD-5.
	It("deletes nothing if a live read shows that the PVC is selected again", func() {
		s, c, all, o := startWithSeries(func(s *spec) { s.SnapshotTTL = "30d"; s.Retention.Detached.SnapshotTTL = "1h" }, selecting("app", "shop"))
		setLabel(c, "app", "other")
		o.advanceClocks(30 * time.Minute)
		requeue(c)
		Eventually(detached(s)).Should(HaveField("MapKeys", BeEquivalentTo(1)))
		o.network.freeze("persistentvolumeclaims")
		setLabel(c, "app", "shop")
		o.advanceClocks(4 * time.Hour)
		setAnnotation(all[0], "touched", "yes")
		Eventually(getsOf(o, c, "persistentvolumeclaims")).Should(BeNumerically(">", 1))
		Expect(o.network.deletes()).To(BeZero())
		o.network.thaw("persistentvolumeclaims")
		Consistently(env.snapshotNames, "300ms").Should(ConsistOf(names(all...)))
	})

	// Contract: GUARD-3.
	DescribeTable("deletes nothing if a live read shows that the schedule was edited",
		func(edit string, keep int) {
			s, c, all, o := startWithSeries()
			o.network.freeze("snapshotschedules")
			mergePatch(s, edit)
			o.advanceClocks(4 * time.Hour)
			requeue(c)
			Eventually(getsOf(o, s, "snapshotschedules")).Should(BeNumerically(">", 0))
			requeue(c)
			Consistently(o.network.deletes, "1500ms").Should(BeZero())
			o.network.thaw("snapshotschedules")
			Eventually(func() int64 { return status(s).ObservedGeneration }).Should(BeEquivalentTo(2))
			Eventually(env.snapshotNames).Should(ConsistOf(names(all[3-keep:]...)))
			// A request is recorded after its response, which the snapshots may precede.
			Eventually(o.network.deletes).Should(Equal(3 - keep))
		},
		Entry("so that every snapshot is kept", `{"spec":{"snapshotTTL":"30d"}}`, 3),
		Entry("although the same snapshots expire", `{"spec":{"snapshotTTL":"90m"}}`, 1),
	)

	// Contract: GUARD-7.
	It("pauses retention while the clocks differ, and resumes by itself", func() {
		s := env.createSchedule("backup", suspended, ttl("1h"))
		c := env.createClaim("data")
		env.createSnapshot(s, c, 3*time.Hour)
		a := env.createSnapshot(s, c, 2*time.Hour)
		o := env.startOperator(localClockAhead(4 * time.Hour))
		Eventually(retentionPaused(s)).Should(Equal("True ClockSkew"))
		Eventually(env.events).Should(ConsistOf(HavePrefix("Warning RetentionPaused SnapshotSchedule/backup: ")))
		Expect(o.network.deletes()).To(BeZero())
		Expect(readyCondition(s)()).To(Equal("True Suspended"))

		o.network.ahead.Store(int64(4 * time.Hour))
		Eventually(retentionPaused(s)).Should(Equal("False RetentionRunning"))
		Eventually(env.snapshotNames).Should(ConsistOf(a.Name))
	})

	// Contract: GUARD-7.
	It("takes snapshots while retention is paused", func() {
		s := env.createSchedule("backup", ttl("1h"))
		c := env.createClaim("data")
		env.createSnapshot(s, c, 3*time.Hour)
		env.createSnapshot(s, c, 2*time.Hour)
		env.startOperator(localClockAhead(4 * time.Hour))
		Eventually(retentionPaused(s)).Should(Equal("True ClockSkew"))
		Eventually(func() int { return len(env.snapshotsOf("data")) }).Should(Equal(3))
	})

	// Contract: GUARD-8.
	It("deletes nothing before the cache has synced", func() {
		s := env.createSchedule("backup", suspended, ttl("1h"))
		c := env.createClaim("data")
		env.createSnapshot(s, c, 3*time.Hour)
		a := env.createSnapshot(s, c, 2*time.Hour)
		// Without PVCs, every one would appear to be deleted.
		o := env.startOperator(clocksAhead(4*time.Hour), failing(http.StatusServiceUnavailable, to("", "/persistentvolumeclaims$")))
		Eventually(func() int { return o.network.count("GET", "persistentvolumeclaims") }).Should(BeNumerically(">", 1))
		Expect(o.network.deletes()).To(BeZero())
		Expect(env.snapshots()).To(HaveLen(2))
		o.network.heal()
		Eventually(env.snapshotNames).Should(ConsistOf(a.Name))
	})

	// Contract: API-4, API-5.
	DescribeTable("creates and deletes nothing while the spec is invalid, and resumes when it is fixed",
		func(invalid, fixed, message string) {
			s := env.createSchedule("backup", ttl("1h"), selecting("app", "shop"))
			c := env.createClaim("data", "app", "shop")
			a, b := env.createSnapshot(s, c, 3*time.Hour), env.createSnapshot(s, c, 2*time.Hour)
			mergePatch(s, invalid)
			env.createSchedule("valid", selecting("app", "valid"))
			o := env.startOperator(clocksAhead(4 * time.Hour))
			Eventually(readyCondition(s)).Should(Equal("False InvalidSpec"))
			Expect(readyMessage(s)).To(ContainSubstring(message))
			Expect(status(s).NextSnapshotTime).To(BeNil())
			env.barrier("app", "valid") // of the other schedule, which is not affected
			Expect(env.snapshotsOf("data")).To(HaveLen(2))
			Expect(o.network.deletes()).To(BeZero())

			mergePatch(s, fixed)
			Eventually(readyCondition(s)).ShouldNot(Equal("False InvalidSpec"))
			Eventually(isDeleted(a)).Should(BeTrue())
			Expect(isDeleted(b)()).To(BeFalse(), "the floor keeps it")
		},
		Entry("an unknown time zone", `{"spec":{"snapshotInterval":null,"schedule":"@daily","timeZone":"Europe/Osloo"}}`,
			`{"spec":{"timeZone":"Europe/Oslo"}}`, "Europe/Osloo"),
		Entry("a cron line that never fires", `{"spec":{"snapshotInterval":null,"schedule":"0 0 30 2 *"}}`,
			`{"spec":{"schedule":"0 0 28 2 *"}}`, "never fires"),
		Entry("a jitter not shorter than the interval", `{"spec":{"jitter":"1h"}}`, `{"spec":{"jitter":"59m"}}`, "spec.jitter"),
	)
})
