// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// measured are the metrics of a schedule, without the first part of their names, and with the
// value of a reason or state after a space. Of a histogram it is how many were measured.
func measured(s *schedule) map[string]float64 {
	GinkgoHelper()
	families, err := metrics.Registry.Gather()
	Expect(err).NotTo(HaveOccurred())
	found := map[string]float64{}
	for _, f := range families {
		name, ours := strings.CutPrefix(f.GetName(), "snapshotschedule_")
		for _, m := range f.GetMetric() {
			labels := map[string]string{}
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			if ours && labels["namespace"] == s.Namespace && labels["schedule"] == s.Name {
				found[strings.TrimSpace(name+" "+labels["reason"]+labels["state"])] = m.GetGauge().GetValue() +
					m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	return found
}

// eventually the metrics of a schedule are these, among others.
func eventually(s *schedule, want map[string]float64) {
	GinkgoHelper()
	Eventually(func() string {
		found := measured(s)
		maps.DeleteFunc(found, func(name string, _ float64) bool { _, ok := want[name]; return !ok })
		return fmt.Sprint(found)
	}).Should(Equal(fmt.Sprint(want)))
}

var _ = Describe("Metrics", func() {
	var w *world
	BeforeEach(func() { w = newWorld() })

	// Contract: MET-1.
	It("tell the life of a schedule, and go with it", func() {
		s := w.schedule("backup", ttl("1h"), selecting("app", "shop"), func(s *spec) { s.ReadyDeadline = "30m" })
		o := w.start()
		a, b := w.claim("a", "app", "shop"), w.claim("b", "app", "shop")
		wake := func() {
			GinkgoHelper()
			for _, c := range []*claim{a, b} {
				label(c, "wake", time.Now().Format("150405.000000"))
			}
		}

		By("both being created")
		first := w.first("a")
		w.first("b")
		eventually(s, map[string]float64{
			"ready Scheduled": 1, "suspended": 0, "retention_paused": 0, "interval_seconds": 3600, "problems": 0,
			"persistentvolumeclaims": 2, "failing_persistentvolumeclaims": 0, "skipped_persistentvolumeclaims": 0,
			"snapshots ready": 0, "snapshots pending": 2, "snapshots failed": 0, "snapshots detached": 0,
			"snapshots_created_total": 2, "slot_to_creation_seconds": 2, "creation_to_ready_seconds": 0,
			"snapshots_failed_total": 0, "snapshots_deleted_total Expired": 0,
			"next_slot_timestamp_seconds":             float64(a.CreationTimestamp.Add(time.Hour).Unix()),
			"oldest_recovery_point_timestamp_seconds": float64(a.CreationTimestamp.Unix()),
		})
		Eventually(func() *metav1.Time { return status(s).OldestRecoveryPoint }).Should(HaveField("Time", BeTemporally("==", a.CreationTimestamp.Time)))

		By("one being ready")
		makeReady(first)
		eventually(s, map[string]float64{"snapshots ready": 1, "snapshots pending": 1, "creation_to_ready_seconds": 1})

		By("the other failing")
		o.later(31 * time.Minute)
		wake()
		eventually(s, map[string]float64{
			"snapshots ready": 1, "snapshots pending": 0, "snapshots failed": 1, "snapshots_failed_total": 1,
			"ready SnapshotsFailing": 0, "failing_persistentvolumeclaims": 1, "problems": 1,
		})
		Expect(measured(s)).NotTo(HaveKey("ready Scheduled"), "one reason at a time")

		By("the next slot replacing it, and the other expiring")
		o.later(30 * time.Minute)
		wake()
		eventually(s, map[string]float64{"snapshots_created_total": 4, "snapshots_deleted_total Replaced": 1})
		makeReady(&w.of("a")[1])
		makeReady(w.first("b"))
		eventually(s, map[string]float64{
			"snapshots ready": 2, "snapshots pending": 0, "snapshots failed": 0, "creation_to_ready_seconds": 3,
			"snapshots_deleted_total Replaced": 1, "snapshots_deleted_total Expired": 1, "ready Scheduled": 1,
		})

		By("a PVC moving out")
		label(a, "app", "other")
		eventually(s, map[string]float64{"persistentvolumeclaims": 1, "snapshots ready": 1, "snapshots detached": 1})

		By("the clocks differing when there is something to delete")
		o.machine.ahead.Add(int64(2 * time.Hour))
		wake()
		makeReady(&w.count("b", 2)[1])
		eventually(s, map[string]float64{"retention_paused": 1})
		o.machine.ahead.Add(-int64(2 * time.Hour))
		wake()
		eventually(s, map[string]float64{"retention_paused": 0})

		By("the schedule being deleted")
		Expect(api.Delete(ctx, s)).To(Succeed())
		Eventually(func() map[string]float64 { return measured(s) }).Should(BeEmpty())
		wake()
		Consistently(func() map[string]float64 { return measured(s) }, "500ms").Should(BeEmpty())
	})

	// Contract: MET-2.
	It("tell nothing that is not known, under an invalid spec", func() {
		s := w.schedule("backup")
		w.start()
		w.claim("data")
		makeReady(w.first("data"))
		eventually(s, map[string]float64{"ready Scheduled": 1, "snapshots ready": 1})
		Expect(api.Patch(ctx, s, patch(`{"spec":{"jitter":"2h"}}`))).To(Succeed())
		Eventually(func() map[string]float64 {
			found := measured(s)
			maps.DeleteFunc(found, func(name string, _ float64) bool {
				return strings.Contains(name, "_total") || strings.Contains(name, "_to_") // what was counted
			})
			return found
		}).Should(Equal(map[string]float64{"ready InvalidSpec": 0}))
		Expect(api.Patch(ctx, s, patch(`{"spec":{"jitter":null}}`))).To(Succeed())
		eventually(s, map[string]float64{"ready Scheduled": 1, "snapshots ready": 1})
	})

	// Contract: MET-4.
	It("are told by the manager that leads, and by no other", func() {
		s := w.schedule("backup")
		w.claim("data")
		o := w.start(standingBy)
		Eventually(func() int { return o.network.of("GET", "persistentvolumeclaims") }).Should(BeNumerically(">", 0), "it fills its cache")
		Consistently(func() map[string]float64 { return measured(s) }, "1s").Should(BeEmpty())
		w.start()
		eventually(s, map[string]float64{"ready Scheduled": 1, "snapshots_created_total": 1})
	})
})

// standingBy has another manager lead.
func standingBy(o *operator, _ *snapshots.Options) { o.lock = othersLock{} }

// othersLock is held by another manager, for good.
type othersLock struct{}

var errHeld = errors.New("another one leads")

func (othersLock) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	now := metav1.Now()
	return &resourcelock.LeaderElectionRecord{
		HolderIdentity: "another", LeaseDurationSeconds: 3600, AcquireTime: now, RenewTime: now,
	}, []byte("held"), nil
}
func (othersLock) Create(context.Context, resourcelock.LeaderElectionRecord) error { return errHeld }
func (othersLock) Update(context.Context, resourcelock.LeaderElectionRecord) error { return errHeld }
func (othersLock) RecordEvent(string)                                              {}
func (othersLock) Identity() string                                                { return "this one" }
func (othersLock) Describe() string                                                { return "a lock of another" }
