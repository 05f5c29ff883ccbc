// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// storm is some PVCs of one driver in one namespace, all of them due.
type storm struct {
	*environment
	driver   string
	schedule *schedule
}

func newStorm(env *environment, driver string, claims int, changes ...func(*spec)) *storm {
	GinkgoHelper()
	for i := range claims {
		env.createClaimOf(fmt.Sprint("data-", i), driver)
	}
	return &storm{environment: env, driver: driver, schedule: env.createSchedule("backup", changes...)}
}

// rarely makes no second slot fall due within a spec.
func rarely(s *spec) { s.SnapshotInterval = "1w" }

// uncut returns the snapshots that are not cut and not being deleted.
func (s *storm) uncut() (found []*snapshot) {
	GinkgoHelper()
	for _, v := range s.snapshots() {
		if v.DeletionTimestamp == nil && (v.Status == nil || v.Status.CreationTime == nil) {
			found = append(found, &v)
		}
	}
	return found
}

// stays expects that exactly n snapshots are uncut, now and a little later.
func (s *storm) stays(n int) {
	GinkgoHelper()
	Eventually(s.uncut).Should(HaveLen(n))
	Consistently(s.uncut, "300ms", "50ms").Should(HaveLen(n))
}

// flight returns the two metrics of the driver, such as "3 in flight, 7 waiting".
func (s *storm) flight() string {
	GinkgoHelper()
	families, err := metrics.Registry.Gather()
	Expect(err).NotTo(HaveOccurred())
	values := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if len(m.GetLabel()) == 1 && m.GetLabel()[0].GetName() == "driver" && m.GetLabel()[0].GetValue() == s.driver {
				values[f.GetName()] = m.GetGauge().GetValue()
			}
		}
	}
	return fmt.Sprintf("%v in flight, %v waiting",
		values["snapshotschedule_in_flight_snapshots"], values["snapshotschedule_waiting_persistentvolumeclaims"])
}

var _ = Describe("Snapshots in flight", func() {
	var env *environment
	BeforeEach(func() {
		env = newEnvironment()
		env.createClass("block", "block", true)
	})

	// Contract: FLIGHT-1, FLIGHT-2, FLIGHT-4, FLIGHT-5.
	It("never exceed the limit, until every PVC had its turn, and show who waits", func() {
		s := newStorm(env, env.driver("block"), 10, rarely)
		o := env.startOperator(maxInFlight(3))
		s.stays(3)
		Eventually(s.flight).Should(Equal("3 in flight, 7 waiting"))
		Eventually(func() string { return readyMessage(s.schedule) }).
			Should(Equal("10 PersistentVolumeClaims, 7 waiting for their turn (driver " + s.driver + ")"))
		Expect(readyCondition(s.schedule)()).To(Equal("True Scheduled"))

		By("creating PVCs that do not wait: of another driver, and of none that is known")
		env.createClass("files", "files", true)
		env.createClaimOf("files", env.driver("files"))
		env.createClaim("by-hand")
		makeReady(env.waitForSnapshot("files"))
		makeReady(env.waitForSnapshot("by-hand"))

		By("restarting the operator")
		o.stop()
		o = env.startOperator(maxInFlight(3))
		s.stays(3)
		Eventually(s.flight).Should(Equal("3 in flight, 7 waiting"))

		By("cutting, deleting, and beginning to delete snapshots")
		next := s.uncut()
		makeReady(next[0])
		s.stays(3)
		addFinalizer(next[1])
		Expect(api.Delete(ctx, next[1])).To(Succeed())
		s.stays(3)
		for len(s.snapshots()) < 12 {
			makeReady(s.uncut()[0])
			s.stays(3)
		}
		Eventually(s.flight).Should(Equal("3 in flight, 0 waiting"))
		Eventually(func() string { return readyMessage(s.schedule) }).Should(Equal("12 PersistentVolumeClaims"))
		Expect(o.network.find(func(r request) bool {
			return r.method == http.MethodPost && r.resource() == "volumesnapshots" && r.answer != http.StatusCreated
		})).To(BeEmpty(), "no create is in vain")
	})

	// Contract: FLIGHT-3.
	It("give another namespace the next place, and no namespace more than half while others wait", func() {
		big := newStorm(env, env.driver("block"), 10, rarely)
		(&environment{}).startOperator(maxInFlight(4))
		big.stays(4)
		small := newStorm(newEnvironment(), big.driver, 3, rarely)
		Eventually(big.flight).Should(Equal("4 in flight, 9 waiting"))
		for uncut := 1; uncut <= 2; uncut++ {
			makeReady(big.uncut()[0])
			Eventually(small.uncut).Should(HaveLen(uncut))
			big.stays(4 - uncut)
		}
		makeReady(small.uncut()[0])
		small.stays(2)
		big.stays(2)
	})

	// Contract: FLIGHT-2.
	It("count for readyDeadline at most", func() {
		s := newStorm(env, env.driver("block"), 7, rarely, func(s *spec) { s.ReadyDeadline = "10m" })
		o := env.startOperator(maxInFlight(3))
		s.stays(3)
		o.stop()
		o = env.startOperator(maxInFlight(3), clocksAhead(9*time.Minute))
		s.stays(3)
		o.stop()
		env.startOperator(maxInFlight(3), clocksAhead(10*time.Minute+time.Second))
		s.stays(7) // to a clock that is ahead, those that are created now are as old
	})

	// Contract: FLIGHT-1.
	It("do not hold up retention", func() {
		s := newStorm(env, env.driver("block"), 2, rarely, ttl("1h"), func(s *spec) { s.Retention.MinReady = ptr.To[int32](0) })
		c := &claim{}
		Expect(api.Get(ctx, client.ObjectKey{Namespace: env.namespace, Name: "data-0"}, c)).To(Succeed())
		old := env.createSnapshot(s.schedule, c, 30*24*time.Hour)
		Expect(api.Get(ctx, client.ObjectKey{Namespace: env.namespace, Name: "data-1"}, c)).To(Succeed())
		older := env.createSnapshot(s.schedule, c, 60*24*time.Hour)
		env.startOperator(maxInFlight(1), clocksAhead(2*time.Hour))
		Eventually(isDeleted(old)).Should(BeTrue())
		Eventually(isDeleted(older)).Should(BeTrue())
	})

	// Contract: FLIGHT-2.
	It("leave the line when their PVC or schedule is deleted, or the schedule is suspended", func() {
		s := newStorm(env, env.driver("block"), 5, rarely)
		env.startOperator(maxInFlight(1))
		Eventually(s.flight).Should(Equal("1 in flight, 4 waiting"))
		s.stays(1) // the place is taken before the snapshot is created
		taken := *s.uncut()[0].Spec.Source.PersistentVolumeClaimName
		for i := range 5 {
			if name := fmt.Sprint("data-", i); name != taken {
				c := &claim{}
				Expect(api.Get(ctx, client.ObjectKey{Namespace: env.namespace, Name: name}, c)).To(Succeed())
				deleteClaim(c)
				break
			}
		}
		Eventually(s.flight).Should(Equal("1 in flight, 3 waiting"))
		mergePatch(s.schedule, `{"spec":{"suspend":true}}`)
		Eventually(s.flight).Should(Equal("1 in flight, 0 waiting"))
		mergePatch(s.schedule, `{"spec":{"suspend":false}}`)
		Eventually(s.flight).Should(Equal("1 in flight, 3 waiting"))
		other := env.createSchedule("other", rarely)
		Eventually(s.flight).Should(Equal("1 in flight, 7 waiting"), "every PVC waits under the other schedule, too")
		Expect(api.Delete(ctx, other)).To(Succeed())
		Eventually(s.flight).Should(Equal("1 in flight, 3 waiting"))
	})

	// Contract: FLIGHT-1.
	It("do not count creates that are refused", func() {
		denyCreates(env, "denied-")
		denied := []any{}
		for i := range 4 {
			c := env.createClaimOf(fmt.Sprint("denied-", i), env.driver("block"))
			denied = append(denied, c.Name+" "+v1alpha1.ReasonCreateFailed)
		}
		s := newStorm(env, env.driver("block"), 0, rarely)
		env.startOperator(maxInFlight(2))
		Eventually(problemsOf(s.schedule)).Should(ConsistOf(denied...))
		for i := range 3 {
			env.createClaimOf(fmt.Sprint("data-", i), s.driver)
		}
		s.stays(2)
		Expect(problemsOf(s.schedule)()).To(ConsistOf(denied...), "also while they wait to try again")
	})
})
