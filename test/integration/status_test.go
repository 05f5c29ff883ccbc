// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"

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

	// Contract: STAT-11.
	It("shows nothing old while the spec is invalid", func() {
		s := env.createSchedule("backup")
		env.startOperator()
		env.createClaim("data")
		makeReady(env.waitForSnapshot("data"))
		counts := v1alpha1.OutputCount{Total: 1, Ready: 1}
		Eventually(func() v1alpha1.OutputCount { return status(s).Outputs.VolumeSnapshots }).Should(Equal(counts))
		Expect(condition(s, v1alpha1.ConditionStalled)()).To(Equal("False ValidSpec"))

		mergePatch(s, `{"spec":{"jitter":"1h"}}`)
		Eventually(condition(s, v1alpha1.ConditionStalled)).Should(Equal("True InvalidSpec"))
		Expect(condition(s, v1alpha1.ConditionRetentionPaused)()).To(Equal("True InvalidSpec"))
		got := status(s)
		got.Conditions = nil
		Expect(got).To(Equal(v1alpha1.SnapshotScheduleStatus{ObservedGeneration: 2, Outputs: v1alpha1.Outputs{VolumeSnapshots: counts}}))

		mergePatch(s, `{"spec":{"jitter":null}}`)
		Eventually(condition(s, v1alpha1.ConditionStalled)).Should(Equal("False ValidSpec"))
		Expect(selected(s)).To(BeEquivalentTo(1))
		Expect(condition(s, v1alpha1.ConditionRetentionPaused)()).To(Equal("False RetentionRunning"))
	})

	// Contract: STAT-2, STAT-4.
	It("reports NoMatchingClaims without PVCs, and has no next time while suspended", func() {
		s := env.createSchedule("backup")
		env.startOperator()
		Eventually(readyCondition(s)).Should(Equal("True NoMatchingClaims"))
		env.createClaim("data")
		Eventually(readyCondition(s)).Should(Equal("True Scheduled"))
		Eventually(func() *metav1.Time { return status(s).NextSnapshotTime }).ShouldNot(BeNil())
		mergePatch(s, `{"spec":{"suspend":true}}`)
		Eventually(readyCondition(s)).Should(Equal("True Suspended"))
		Expect(status(s).NextSnapshotTime).To(BeNil())
		Expect(status(s).ObservedGeneration).To(BeEquivalentTo(2))
	})

	// Contract: STAT-8.
	It("is written at most once per interval, and settles", func() {
		s := env.createSchedule("backup")
		o := env.startOperator(statusInterval(time.Second))
		began := time.Now()
		for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"} {
			env.createClaim(name)
			makeReady(env.waitForSnapshot(name))
		}
		Eventually(func() int32 { return status(s).Outputs.VolumeSnapshots.Ready }).Should(BeEquivalentTo(10))
		writes := o.network.count("PATCH", "snapshotschedules")
		Expect(writes).To(BeNumerically("<=", int(time.Since(began)/time.Second)+1))
		settled := get(s.DeepCopy()).ResourceVersion
		Consistently(func() string { return get(s.DeepCopy()).ResourceVersion }, "1500ms").Should(Equal(settled))
	})

	// Contract: STAT-10.
	It("is shown by kubectl get", func() {
		s := env.createSchedule("backup", ttl("10d"))
		env.startOperator()
		env.createClaim("data")
		makeReady(env.waitForSnapshot("data"))
		Eventually(func() int32 { return status(s).Outputs.VolumeSnapshots.Ready }).Should(BeEquivalentTo(1))
		client, err := discovery.NewDiscoveryClientForConfig(config)
		Expect(err).NotTo(HaveOccurred())
		body, err := client.RESTClient().Get().
			AbsPath("apis", v1alpha1.GroupName, "v1alpha1", "namespaces", env.namespace, "snapshotschedules").
			SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").Do(ctx).Raw()
		Expect(err).NotTo(HaveOccurred())
		var table metav1.Table
		Expect(json.Unmarshal(body, &table)).To(Succeed())
		cells := map[string]any{}
		for i, column := range table.ColumnDefinitions {
			cells[column.Name] = table.Rows[0].Cells[i]
		}
		for _, ages := range []string{"RECOVERY POINT", "LAST", "AGE"} {
			Expect(cells[ages]).To(MatchRegexp(`^[0-9]`), ages)
			delete(cells, ages)
		}
		Expect(cells).To(Equal(map[string]any{
			"Name": "backup", "SCHEDULE": "1h", "TTL": "10d", "PVCS": 1.0, "SNAPSHOTS": 1.0, "READY": "True",
			"NEXT": status(s).NextSnapshotTime.UTC().Format(time.RFC3339), "SUSPEND": false,
			"REASON": "Scheduled", "DETACHED": 0.0, "DELETION": nil,
		}))
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
		requests := func() int { return len(o.network.find(func(r request) bool { return !r.isWatch() })) }
		// After a second without requests, the last status is written.
		last, since := requests(), time.Now()
		Eventually(func() time.Duration {
			if n := requests(); n != last {
				last, since = n, time.Now()
			}
			return time.Since(since)
		}).Should(BeNumerically(">", time.Second))

		before := resourceVersions(env)
		Consistently(requests, "10s", "250ms").Should(Equal(last))
		Expect(resourceVersions(env)).To(Equal(before))
	})

	// Contract: MAP-7.
	It("takes every slot exactly once over many restarts", func() {
		env.createSchedule("backup")
		names := []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"}
		for _, name := range names {
			env.createClaim(name)
		}
		for i := range 6 {
			o := env.startOperator()
			Eventually(func() int { return len(env.snapshots()) }).Should(BeNumerically(">", 2*i))
			o.stop()
		}
		env.startOperator()
		for _, name := range names {
			env.waitForSnapshot(name)
		}
		env.barrier()
		Expect(env.snapshots()).To(HaveLen(len(names) + 1))
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

	// Contract: SLOT-1.
	It("takes the first snapshot of a PVC within seconds after it is bound", func() {
		env.createSchedule("backup")
		env.startOperator()
		c := env.createPendingClaim("data")
		env.barrier()
		setPhase(c, corev1.ClaimBound)
		Eventually(func() int { return len(env.snapshotsOf("data")) }, "3s").Should(Equal(1))
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
