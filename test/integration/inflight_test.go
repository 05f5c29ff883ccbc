// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
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
	It("never exceed the limit, until every PVC has its snapshot, and show who waits", func() {
		s := newStorm(env, env.driver("block"), 10, rarely)
		o := env.startOperator(maxInFlight(3))
		s.stays(3)
		Eventually(s.flight).Should(Equal("3 in flight, 7 waiting"))
		Eventually(func() string { return readyMessage(s.schedule) }).
			Should(Equal("10 PersistentVolumeClaims, 7 waiting (driver " + s.driver + ")"))
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
	It("leave half of the limit to other namespaces, even if none of one namespace's is ever cut", func() {
		big := newStorm(env, env.driver("block"), 10, rarely)
		(&environment{}).startOperator(maxInFlight(4))
		big.stays(4)
		small := newStorm(newEnvironment(), big.driver, 3, rarely)
		Eventually(small.uncut, "5s").Should(HaveLen(2))
		Eventually(big.flight).Should(Equal("6 in flight, 7 waiting"))
		small.stays(2)
		big.stays(4)

		By("cutting snapshots: the namespace that has half or more is passed over")
		makeReady(big.uncut()[0])
		big.stays(3)
		makeReady(small.uncut()[0])
		small.stays(2)
		makeReady(big.uncut()[0])
		big.stays(2)
		makeReady(big.uncut()[0])
		big.stays(2)
		Eventually(big.flight).Should(Equal("4 in flight, 5 waiting"))
	})

	// Contract: FLIGHT-3.
	It("do not wait for the creates of another namespace that hang", func() {
		big := newStorm(env, env.driver("block"), 10, rarely)
		hangs, tried := make(chan struct{}), make(chan string, 1000)
		DeferCleanup(func() { close(hangs) })
		(&environment{}).startOperator(maxInFlight(4), failRequests(func(r *http.Request) int {
			if r.Method != http.MethodPost || !strings.Contains(r.URL.Path, "/namespaces/"+env.namespace+"/volumesnapshots") {
				return 0
			}
			tried <- r.URL.Path
			select { // as admission does
			case <-hangs:
			case <-time.After(time.Second):
			case <-r.Context().Done():
			}
			return http.StatusGatewayTimeout
		}))
		Eventually(tried).Should(Receive())
		small := newStorm(newEnvironment(), big.driver, 6, rarely)
		for left := 6; left > 0; left-- { // each as soon as the one before it is cut
			Eventually(small.uncut, "5s").ShouldNot(BeEmpty())
			makeReady(small.uncut()[0])
		}
		Expect(big.snapshots()).To(BeEmpty())
	})

	// Contract: FLIGHT-6.
	It("do not count snapshots that somebody else made with our labels", func() {
		s := newStorm(env, env.driver("block"), 0, rarely)
		decoy := env.createClaimOf("decoy", s.driver)
		for i := range 10 {
			v := &snapshot{}
			v.Namespace, v.Name = env.namespace, fmt.Sprint("by-hand-", i)
			v.Labels = map[string]string{v1alpha1.LabelMapKey: string(decoy.UID), v1alpha1.LabelSchedule: s.schedule.Name}
			v.Spec.Source.PersistentVolumeClaimName = &decoy.Name
			Expect(controllerutil.SetControllerReference(s.schedule, v, scheme)).To(Succeed())
			Expect(api.Create(ctx, v)).To(Succeed())
		}
		env.startOperator(maxInFlight(2))
		for i := range 3 {
			env.createClaimOf(fmt.Sprint("data-", i), s.driver)
		}
		s.stays(12)
		Eventually(s.flight).Should(Equal("2 in flight, 1 waiting"))
	})

	// Contract: FLIGHT-2.
	It("count for a minute at least, however short readyDeadline is", func() {
		s := newStorm(env, env.driver("block"), 5, rarely, func(s *spec) { s.ReadyDeadline = "1s" })
		env.startOperator(maxInFlight(2))
		s.stays(2)
		Consistently(s.uncut, "3s", "100ms").Should(HaveLen(2))
	})

	// Contract: FLIGHT-1, FLIGHT-5.
	It("have one limit for all PVCs whose driver is unknown, whatever their annotation says", func() {
		env.createClaim("by-hand")
		for i, made := range []string{strings.Repeat("a", 40_000), "not a name", "-made.up"} {
			env.createClaimOf(fmt.Sprint("data-", i), made)
		}
		s := &storm{environment: env, driver: "(other)", schedule: env.createSchedule("backup", rarely)}
		env.startOperator(maxInFlight(2))
		s.stays(2)
		Eventually(s.flight).Should(Equal("2 in flight, 2 waiting"))
		Eventually(func() string { return readyMessage(s.schedule) }).
			Should(Equal("4 PersistentVolumeClaims, 2 waiting (driver unknown)"))
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
