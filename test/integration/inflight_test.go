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
	found := metricsWith(map[string]string{"driver": s.driver})
	return fmt.Sprintf("%v in flight, %v waiting", found["in_flight_snapshots"], found["waiting_persistentvolumeclaims"])
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
})
