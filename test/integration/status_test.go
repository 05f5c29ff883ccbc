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
	var w *world
	BeforeEach(func() { w = newWorld() })

	// Contract: STAT-1.
	It("counts, and names the times of the last, the next and the worst", func() {
		s := w.schedule("backup", selecting("app", "shop"))
		w.start()
		a, b := w.claim("a", "app", "shop"), w.claim("b", "app", "shop")
		w.claim("other")
		makeReady(w.first("a"))
		v := w.first("b")
		anchorA, anchorB := a.CreationTimestamp, b.CreationTimestamp
		Eventually(func() v1alpha1.OutputCount { return status(s).Outputs.VolumeSnapshots }).
			Should(Equal(v1alpha1.OutputCount{Total: 2, Ready: 1}))
		got := status(s)
		Expect(got.ObservedGeneration).To(BeEquivalentTo(1))
		Expect(got.Inputs.PersistentVolumeClaims.Total).To(BeEquivalentTo(2))
		Expect(got.LastSnapshotTime.UTC()).To(Equal(anchorB.UTC()))
		Expect(got.NextSnapshotTime.UTC()).To(Equal(anchorA.Add(time.Hour).UTC()))
		Expect(got.OldestRecoveryPoint).NotTo(BeNil(), "b has no ready one and counts with its anchor")
		Expect(got.OldestRecoveryPoint.Time).To(BeTemporally("<=", anchorB.Time))
		Expect(got.Detached).To(BeZero())
		Expect(got.Problems).To(BeEmpty())
		Expect(condition(s, v1alpha1.ConditionRetentionPaused)()).To(Equal("False RetentionRunning"))
		Expect(ready(s)()).To(Equal("True Scheduled"))

		makeReady(v)
		Eventually(func() int32 { return status(s).Outputs.VolumeSnapshots.Ready }).Should(BeEquivalentTo(2))
		label(b, "app", "other")
		Eventually(func() v1alpha1.Detached { return status(s).Detached }).Should(Equal(v1alpha1.Detached{MapKeys: 1, VolumeSnapshots: 1}))
		Expect(status(s).Inputs.PersistentVolumeClaims.Total).To(BeEquivalentTo(1))
	})

	// Contract: STAT-2, STAT-4.
	It("is about no PVC when none match, and has no next time while suspended", func() {
		s := w.schedule("backup")
		w.start()
		Eventually(ready(s)).Should(Equal("True NoMatchingClaims"))
		w.claim("data")
		Eventually(ready(s)).Should(Equal("True Scheduled"))
		Eventually(func() *metav1.Time { return status(s).NextSnapshotTime }).ShouldNot(BeNil())
		Expect(api.Patch(ctx, s, patch(`{"spec":{"suspend":true}}`))).To(Succeed())
		Eventually(ready(s)).Should(Equal("True Suspended"))
		Expect(status(s).NextSnapshotTime).To(BeNil())
		Expect(status(s).ObservedGeneration).To(BeEquivalentTo(2))
	})

	// Contract: STAT-8.
	It("is written at most once in an interval, and settles", func() {
		s := w.schedule("backup")
		o := w.start(statusEvery(time.Second))
		began := time.Now()
		for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"} {
			w.claim(name)
			makeReady(w.first(name))
		}
		Eventually(func() int32 { return status(s).Outputs.VolumeSnapshots.Ready }).Should(BeEquivalentTo(10))
		writes := o.network.of("PATCH", "snapshotschedules")
		Expect(writes).To(BeNumerically("<=", int(time.Since(began)/time.Second)+1))
		settled := get(s.DeepCopy()).ResourceVersion
		Consistently(func() string { return get(s.DeepCopy()).ResourceVersion }, "1500ms").Should(Equal(settled))
	})

	// Contract: STAT-10.
	It("shows what a user asks of kubectl get", func() {
		s := w.schedule("backup", ttl("10d"))
		w.start()
		w.claim("data")
		makeReady(w.first("data"))
		Eventually(func() int32 { return status(s).Outputs.VolumeSnapshots.Ready }).Should(BeEquivalentTo(1))
		client, err := discovery.NewDiscoveryClientForConfig(config)
		Expect(err).NotTo(HaveOccurred())
		body, err := client.RESTClient().Get().
			AbsPath("apis", v1alpha1.GroupName, "v1alpha1", "namespaces", w.namespace, "snapshotschedules").
			SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").Do(ctx).Raw()
		Expect(err).NotTo(HaveOccurred())
		var table metav1.Table
		Expect(json.Unmarshal(body, &table)).To(Succeed())
		cells := map[string]any{}
		for i, column := range table.ColumnDefinitions {
			cells[column.Name] = table.Rows[0].Cells[i]
		}
		for _, ages := range []string{"LAST", "AGE"} {
			Expect(cells[ages]).To(MatchRegexp(`^[0-9]`), ages)
			delete(cells, ages)
		}
		Expect(cells).To(Equal(map[string]any{
			"Name": "backup", "SCHEDULE": "1h", "TTL": "10d", "PVCS": 1.0, "SNAPSHOTS": 1.0, "READY": "True",
			"NEXT": status(s).NextSnapshotTime.UTC().Format(time.RFC3339), "SUSPEND": false,
		}))
	})
})

var _ = Describe("The operator", func() {
	var w *world
	BeforeEach(func() { w = newWorld() })

	// Contract: STAT-8.
	It("makes no request but watches while nothing is due, and leaves everything as it is", func() {
		s := w.schedule("backup", ttl("10d"))
		c := w.claim("data")
		for _, ago := range []time.Duration{3 * time.Hour, 2 * time.Hour} {
			w.past(s, c, ago)
		}
		o := w.start()
		w.count("data", 3)
		makeReady(&w.of("data")[2])
		Eventually(func() int32 { return status(s).Outputs.VolumeSnapshots.Ready }).Should(BeEquivalentTo(3))
		requests := func() int { return len(o.network.seen(func(r request) bool { return !r.watches() })) }
		// Quiet for a second: the last status is written.
		last, since := requests(), time.Now()
		Eventually(func() time.Duration {
			if n := requests(); n != last {
				last, since = n, time.Now()
			}
			return time.Since(since)
		}).Should(BeNumerically(">", time.Second))

		before := versions(w)
		Consistently(requests, "10s", "250ms").Should(Equal(last))
		Expect(versions(w)).To(Equal(before))
	})

	// Contract: MAP-7.
	It("never takes a slot twice nor skips one for good, however often it is started again", func() {
		w.schedule("backup")
		names := []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"}
		for _, name := range names {
			w.claim(name)
		}
		for i := range 6 {
			o := w.start()
			Eventually(func() int { return len(w.snapshots()) }).Should(BeNumerically(">", 2*i))
			o.stop()
		}
		w.start()
		for _, name := range names {
			w.first(name)
		}
		w.marker()
		Expect(w.snapshots()).To(HaveLen(len(names) + 1))
	})

	// Contract: MAP-7.
	It("takes each slot once when two of it run", func() {
		s := w.schedule("backup")
		one, two := w.start(), w.start()
		names := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
		for _, name := range names {
			w.claim(name)
		}
		for _, name := range names {
			w.first(name)
		}
		w.marker()
		Expect(w.snapshots()).To(HaveLen(len(names) + 1))
		Expect(one.network.of("DELETE", "volumesnapshots") + two.network.of("DELETE", "volumesnapshots")).To(BeZero())
		Eventually(ready(s)).Should(Equal("True Scheduled"))
		Expect(status(s).Problems).To(BeEmpty())
	})

	// Contract: SLOT-1.
	It("takes the first snapshot of a PVC that is bound later within a second or so", func() {
		w.schedule("backup")
		w.start()
		c := w.pendingClaim("data")
		w.marker()
		w.phase(c, corev1.ClaimBound)
		Eventually(func() int { return len(w.of("data")) }, "3s").Should(Equal(1))
	})
})

func versions(w *world) map[string]string {
	GinkgoHelper()
	all := map[string]string{}
	for _, v := range w.snapshots() {
		all["snapshot "+v.Name] = v.ResourceVersion
	}
	var schedules v1alpha1.SnapshotScheduleList
	Expect(api.List(ctx, &schedules)).To(Succeed())
	for _, s := range schedules.Items {
		if s.Namespace == w.namespace {
			all["schedule "+s.Name] = s.ResourceVersion
		}
	}
	return all
}
