// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

var _ = Describe("Status", func() {
	var env *environment
	BeforeEach(func() { env = newEnvironment() })

	// Contract: STAT-1.
	It("shows counts, the last and next snapshot time, and the oldest recovery point", func() {
		s := env.createSchedule("backup", selecting("app", "shop"))
		env.startOperator()
		a, b := env.createClaim("a", "app", "shop"), env.createClaim("b", "app", "shop")
		env.createClaim("other")
		makeReady(env.waitForSnapshot("a"))
		v := env.waitForSnapshot("b")
		anchorA, anchorB := a.CreationTimestamp, b.CreationTimestamp
		Eventually(func() v1alpha1.OutputCount { return status(s).Outputs.VolumeSnapshots }).
			Should(Equal(v1alpha1.OutputCount{Total: 2, Ready: 1}))
		got := status(s)
		Expect(got.ObservedGeneration).To(BeEquivalentTo(1))
		Expect(got.Inputs).NotTo(BeNil())
		Expect(got.Inputs.PersistentVolumeClaims.Total).To(BeEquivalentTo(2))
		Expect(got.LastSnapshotTime.UTC()).To(Equal(anchorB.UTC()))
		Expect(got.NextSnapshotTime.UTC()).To(Equal(anchorA.Add(time.Hour).UTC()))
		Expect(got.OldestRecoveryPointTime).NotTo(BeNil(), "b has no ready snapshot and counts with its anchor")
		Expect(got.OldestRecoveryPointTime.Time).To(BeTemporally("<=", anchorB.Time))
		Expect(got.Detached).To(HaveValue(BeZero()))
		Expect(got.Problems).To(BeEmpty())
		Expect(condition(s, v1alpha1.ConditionRetentionPaused)()).To(Equal("False RetentionRunning"))
		Expect(readyCondition(s)()).To(Equal("True Scheduled"))

		makeReady(v)
		Eventually(func() int32 { return status(s).Outputs.VolumeSnapshots.Ready }).Should(BeEquivalentTo(2))
		setLabel(b, "app", "other")
		Eventually(detached(s)).Should(Equal(v1alpha1.Detached{MapKeys: 1, VolumeSnapshots: 1}))
		Expect(selected(s)).To(BeEquivalentTo(1))
	})
})

var _ = Describe("The operator", func() {
	var env *environment
	BeforeEach(func() { env = newEnvironment() })

	// Contract: STAT-8.
	It("makes no request except watches while nothing is due, and changes nothing", func() {
		s := env.createSchedule("backup", ttl("10d"))
		c := env.createClaim("data")
		for _, ago := range []time.Duration{3 * time.Hour, 2 * time.Hour} {
			env.createSnapshot(s, c, ago)
		}
		o := env.startOperator()
		env.waitForSnapshots("data", 3)
		makeReady(&env.snapshotsOf("data")[2])
		Eventually(func() int32 { return status(s).Outputs.VolumeSnapshots.Ready }).Should(BeEquivalentTo(3))
		expectRest(func(r request) bool { return !r.isWatch() }, o)
		settled := resourceVersions(env)
		expectRest(func(r request) bool { return !r.isWatch() }, o)
		Expect(resourceVersions(env)).To(Equal(settled))
	})

	// Contract: MAP-7.
	It("takes every slot exactly once while two operators run", func() {
		s := env.createSchedule("backup")
		first, second := env.startOperator(), env.startOperator()
		names := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
		for _, name := range names {
			env.createClaim(name)
		}
		for _, name := range names {
			env.waitForSnapshot(name)
		}
		env.barrier()
		Expect(env.snapshots()).To(HaveLen(len(names) + 1))
		Expect(first.network.count("DELETE", "volumesnapshots") + second.network.count("DELETE", "volumesnapshots")).To(BeZero())
		Eventually(readyCondition(s)).Should(Equal("True Scheduled"))
		Expect(status(s).Problems).To(BeEmpty())
	})
})

func resourceVersions(env *environment) map[string]string {
	GinkgoHelper()
	all := map[string]string{}
	for _, v := range env.snapshots() {
		all["snapshot "+v.Name] = v.ResourceVersion
	}
	var schedules v1alpha1.SnapshotScheduleList
	Expect(api.List(ctx, &schedules)).To(Succeed())
	for _, s := range schedules.Items {
		if s.Namespace == env.namespace {
			all["schedule "+s.Name] = s.ResourceVersion
		}
	}
	return all
}
