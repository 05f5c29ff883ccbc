// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"net/http"
	"regexp"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("The conditions of a ClusterSnapshotSchedule", func() {
	BeforeEach(deleteAllSchedules)

	// inOne returns a fleet with one namespace, in which a snapshot of each PVC is due.
	inOne := func(suspend bool, opts ...option) (*fleetObject, *environment) {
		GinkgoHelper()
		f := newFleet(everyHour, func(c *clusterSchedule) { c.Spec.Template.Spec.Suspend = suspend })
		env := f.newNamespace()
		startFleetOperator(opts...)
		f.waitForChild(env)
		return f, env
	}
	selected := func(opts ...option) (*fleetObject, *environment) { return inOne(false, opts...) }

	// Contract: FLEET-6.
	It("are absent before an operator has seen it", func() {
		newEnvironment().isAsFiled(newFleet().clusterSchedule, "fleet-new")
	})

	// Contract: FLEET-6, PROT-4.
	DescribeTable("are those that the health checks of GitOps tools are tested with",
		func(name, want string, scenario func() (*fleetObject, *environment)) {
			f, env := scenario()
			Eventually(f.ready).Should(Equal(want))
			env.isAsFiled(f.clusterSchedule, name)
		},
		Entry("scheduled", "fleet-scheduled", "True Scheduled", func() (*fleetObject, *environment) {
			f, env := selected()
			env.createClaim("data")
			makeReady(env.waitForSnapshot("data"))
			Eventually(f.protected).Should(Equal("True RecoveryPointsCurrent"))
			return f, env
		}),
		Entry("recovery-points-old", "fleet-recovery-points-old", "True Scheduled", func() (*fleetObject, *environment) {
			f, env := inOne(true, clocksAhead(4*time.Hour))
			env.createClaim("data")
			Eventually(f.protected).Should(Equal("False RecoveryPointsOld"))
			return f, env
		}),
		Entry("not-snapshottable", "fleet-not-snapshottable", "True Scheduled", func() (*fleetObject, *environment) {
			f, env := selected()
			env.createClass("fast", "block", true)
			env.createClaimOf("data", env.driver("nfs"))
			Eventually(f.protected).Should(Equal("False NotSnapshottable"))
			return f, env
		}),
		Entry("first-snapshots-made", "fleet-first-snapshots-made", "True Scheduled", func() (*fleetObject, *environment) {
			f, env := selected()
			env.createClaim("data")
			Eventually(f.protected).Should(Equal("Unknown FirstSnapshotsPending"))
			return f, env
		}),
		Entry("reconciling", "fleet-reconciling", "Unknown Reconciling", func() (*fleetObject, *environment) {
			lists, probe := to(http.MethodGet, "^/api/v1/namespaces$"), regexp.MustCompile(`(^|&)limit=1(&|$)`)
			f := newFleet()
			startFleetOperator(failing(http.StatusServiceUnavailable, func(r request) bool { return lists(r) && !probe.MatchString(r.query) }))
			return f, newEnvironment()
		}),
		Entry("no-matching-namespaces", "fleet-no-matching-namespaces", "True NoMatchingNamespaces", func() (*fleetObject, *environment) {
			startFleetOperator()
			return newFleet(), newEnvironment()
		}),
		Entry("schedules-failing", "fleet-schedules-failing", "False SchedulesFailing", func() (*fleetObject, *environment) {
			f, env := selected(failing(http.StatusInternalServerError, snapshotCreates))
			env.createClaim("data")
			return f, env
		}),
		Entry("snapshot-api-missing", "fleet-snapshot-api-missing", "False SnapshotAPIMissing", func() (*fleetObject, *environment) {
			return selected(failing(http.StatusNotFound, snapshotAPI))
		}),
		Entry("invalid-spec", "fleet-invalid-spec", "False InvalidSpec", func() (*fleetObject, *environment) {
			f, env := selected()
			f.edit(func(c *clusterSchedule) { c.Spec.Template.Spec.Jitter = "1h" })
			return f, env
		}),
	)
})
