// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"k8s.io/utils/ptr"
)

var _ = Describe("Snapshots in flight", func() {
	// Contract: FLIGHT-1, FLIGHT-2, FLIGHT-4, FLIGHT-5.
	It("never exceed the limit, until every PVC has its snapshot, and show who waits", func() {
		env := newEnvironment()
		env.createClass("block", "block", true)
		for i := range 10 {
			env.createClaimOf(fmt.Sprint("data-", i), env.driver("block"))
		}
		s := env.createSchedule("backup", func(s *spec) { s.SnapshotInterval = "1w" }) // no second slot falls due
		// uncut returns the snapshots that are not cut and not being deleted.
		uncut := func() []snapshot {
			return slices.DeleteFunc(env.snapshots(), func(v snapshot) bool {
				return v.DeletionTimestamp != nil || v.Status != nil && v.Status.CreationTime != nil
			})
		}
		threeStay := func() {
			GinkgoHelper()
			Eventually(uncut).Should(HaveLen(3))
			Consistently(uncut, "300ms", "50ms").Should(HaveLen(3))
		}
		flight := func() string {
			found := metricsWith(map[string]string{"driver": env.driver("block")})
			return fmt.Sprintf("%v in flight, %v waiting", found["in_flight_snapshots"], found["waiting_persistentvolumeclaims"])
		}
		o := env.startOperator(maxInFlight(3))
		threeStay()
		Eventually(flight).Should(Equal("3 in flight, 7 waiting"))
		Eventually(func() string { return readyMessage(s) }).
			Should(Equal("10 PersistentVolumeClaims, 7 waiting (driver " + env.driver("block") + ")"))
		Expect(readyCondition(s)()).To(Equal("True Scheduled"))

		By("creating PVCs that do not wait: of another driver, and of none that is known")
		env.createClass("files", "files", true)
		env.createClaimOf("files", env.driver("files"))
		env.createClaim("by-hand")
		makeReady(env.waitForSnapshot("files"))
		makeReady(env.waitForSnapshot("by-hand"))

		By("restarting the operator")
		o.stop()
		o = env.startOperator(maxInFlight(3))
		threeStay()
		Eventually(flight).Should(Equal("3 in flight, 7 waiting"))

		By("cutting, deleting, and beginning to delete snapshots")
		next := uncut()
		makeReady(&next[0])
		threeStay()
		addFinalizer(&next[1])
		Expect(api.Delete(ctx, &next[1])).To(Succeed())
		threeStay()
		for len(env.snapshots()) < 12 {
			makeReady(&uncut()[0])
			threeStay()
		}
		Eventually(flight).Should(Equal("3 in flight, 0 waiting"))
		Eventually(func() string { return readyMessage(s) }).Should(Equal("12 PersistentVolumeClaims"))
		Expect(o.network.find(func(r request) bool {
			return r.method == http.MethodPost && r.resource() == "volumesnapshots" && r.answer != http.StatusCreated
		})).To(BeEmpty(), "no create is in vain")
	})

	// Contract: FLIGHT-1.
	It("do not hold up retention", func() {
		env := newEnvironment()
		env.createClass("block", "block", true)
		s := env.createSchedule("backup", ttl("1h"), func(s *spec) { s.Retention.MinReady = ptr.To[int32](0) })
		var old []*snapshot
		for _, name := range []string{"data-0", "data-1"} {
			old = append(old, env.createSnapshot(s, env.createClaimOf(name, env.driver("block")), 30*24*time.Hour))
		}
		env.startOperator(maxInFlight(1), clocksAhead(2*time.Hour))
		for _, v := range old {
			Eventually(isDeleted(v)).Should(BeTrue())
		}
	})
})
