// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

func retentionPaused(s *schedule) func() string {
	return condition(s, v1alpha1.ConditionRetentionPaused)
}

var _ = Describe("The guards before a delete", func() {
	var env *environment
	BeforeEach(func() { env = newEnvironment() })

	// Contract: GUARD-7.
	It("pauses retention, but takes snapshots, while the clocks differ, and resumes by itself", func() {
		s := env.createSchedule("backup", ttl("1h"))
		c := env.createClaim("data")
		expired := env.createSnapshot(s, c, 3*time.Hour)
		env.createSnapshot(s, c, 2*time.Hour)
		o := env.startOperator(localClockAhead(4 * time.Hour))
		Eventually(retentionPaused(s)).Should(Equal("True ClockSkew"))
		Eventually(env.events).Should(ContainElement(HavePrefix("Warning RetentionPaused SnapshotSchedule/backup: ")))
		makeReady(&env.waitForSnapshots("data", 3)[2])
		Eventually(readyCondition(s)).Should(Equal("True Scheduled"))
		Expect(o.network.deletes()).To(BeZero())

		o.network.ahead.Store(int64(4 * time.Hour))
		Eventually(retentionPaused(s)).Should(Equal("False RetentionRunning"))
		Eventually(isDeleted(expired)).Should(BeTrue())
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
})
