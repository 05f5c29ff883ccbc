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

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/enginetest/mutationdetector"
)

// metricsWith returns our metrics that have these labels, by name without the prefix, followed by the values of other labels. The value of
// a histogram is its sample count.
func metricsWith(labels map[string]string) map[string]float64 {
	GinkgoHelper()
	families, err := metrics.Registry.Gather()
	Expect(err).NotTo(HaveOccurred())
	found := map[string]float64{}
	for _, f := range families {
		name, ours := strings.CutPrefix(f.GetName(), "snapshotschedule_")
		for _, m := range f.GetMetric() {
			key, matched := name, 0
			for _, l := range m.GetLabel() {
				if want, asked := labels[l.GetName()]; asked && want == l.GetValue() {
					matched++
				} else if l.GetValue() != "" {
					key += " " + l.GetValue()
				}
			}
			if ours && matched == len(labels) {
				found[key] = m.GetGauge().GetValue() + m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	return found
}

func metricsOf(s *schedule) map[string]float64 {
	GinkgoHelper()
	return metricsWith(map[string]string{"namespace": s.Namespace, "schedule": s.Name})
}

// expectMetrics waits until these metrics of a schedule have these values.
func expectMetrics(s *schedule, want map[string]float64) {
	GinkgoHelper()
	Eventually(func() string {
		found := metricsOf(s)
		maps.DeleteFunc(found, func(name string, _ float64) bool { _, ok := want[name]; return !ok })
		return fmt.Sprint(found)
	}).Should(Equal(fmt.Sprint(want)))
}

var _ = Describe("Metrics", func() {
	var env *environment
	BeforeEach(func() {
		mutationdetector.Wait() // metrics are those of the process: the informers of operators before add to them
		env = newEnvironment()
	})

	// Contract: MET-1.
	It("follow a schedule from creation to deletion", func() {
		s := env.createSchedule("backup", ttl("1h"), selecting("app", "shop"), func(s *spec) { s.ReadyDeadline = "30m" })
		o := env.startOperator()
		a, b := env.createClaim("a", "app", "shop"), env.createClaim("b", "app", "shop")
		requeueBoth := func() {
			GinkgoHelper()
			requeue(a)
			requeue(b)
		}

		By("creating both snapshots")
		first := env.waitForSnapshot("a")
		env.waitForSnapshot("b")
		expectMetrics(s, map[string]float64{
			"ready Scheduled": 1, "suspended": 0, "retention_paused": 0, "interval_seconds": 3600, "problems": 0,
			"persistentvolumeclaims": 2, "failing_persistentvolumeclaims": 0, "skipped_persistentvolumeclaims": 0,
			"snapshots ready": 0, "snapshots pending": 2, "snapshots failed": 0, "snapshots detached": 0,
			"snapshots_created_total": 2, "slot_to_creation_seconds": 2,
			"snapshots_failed_total": 0, "snapshots_deleted_total Expired": 0,
			"next_slot_timestamp_seconds":             float64(a.CreationTimestamp.Add(time.Hour).Unix()),
			"oldest_recovery_point_timestamp_seconds": float64(a.CreationTimestamp.Unix()),
		})
		Eventually(func() *metav1.Time { return status(s).OldestRecoveryPointTime }).Should(HaveField("Time", BeTemporally("==", a.CreationTimestamp.Time)))

		By("completing one snapshot")
		makeReady(first)
		expectMetrics(s, map[string]float64{"snapshots ready": 1, "snapshots pending": 1})

		By("failing the other snapshot")
		o.advanceClocks(31 * time.Minute)
		requeueBoth()
		expectMetrics(s, map[string]float64{
			"snapshots ready": 1, "snapshots pending": 0, "snapshots failed": 1, "snapshots_failed_total": 1,
			"ready SnapshotsFailing": 0, "failing_persistentvolumeclaims": 1, "problems": 1,
		})
		Expect(metricsOf(s)).NotTo(HaveKey("ready Scheduled"), "only one reason at a time")

		By("replacing the failed snapshot and expiring the other")
		o.advanceClocks(30 * time.Minute)
		requeueBoth()
		expectMetrics(s, map[string]float64{"snapshots_created_total": 4, "snapshots_deleted_total Replaced": 1})
		makeReady(&env.snapshotsOf("a")[1])
		makeReady(env.waitForSnapshot("b"))
		expectMetrics(s, map[string]float64{
			"snapshots ready": 2, "snapshots pending": 0, "snapshots failed": 0,
			"snapshots_deleted_total Replaced": 1, "snapshots_deleted_total Expired": 1, "ready Scheduled": 1,
		})

		By("relabeling a PVC")
		setLabel(a, "app", "other")
		expectMetrics(s, map[string]float64{"persistentvolumeclaims": 1, "snapshots ready": 1, "snapshots detached": 1})

		By("skewing the clocks while a delete is due")
		o.clock.ahead.Add(int64(2 * time.Hour))
		requeueBoth()
		makeReady(&env.waitForSnapshots("b", 2)[1])
		expectMetrics(s, map[string]float64{"retention_paused": 1})
		o.clock.ahead.Add(-int64(2 * time.Hour))
		requeueBoth()
		expectMetrics(s, map[string]float64{"retention_paused": 0})

		By("deleting the schedule")
		Expect(api.Delete(ctx, s)).To(Succeed())
		Eventually(func() map[string]float64 { return metricsOf(s) }).Should(BeEmpty())
		requeueBoth()
		Consistently(func() map[string]float64 { return metricsOf(s) }, "500ms").Should(BeEmpty())
	})

	// Contract: MET-4.
	It("are exported only by the leading manager", func() {
		s := env.createSchedule("backup")
		env.createClaim("data")
		o := env.startOperator(onStandby)
		Eventually(func() int { return o.network.count("GET", "persistentvolumeclaims") }).Should(BeNumerically(">", 0), "its cache should sync")
		Consistently(func() map[string]float64 { return metricsOf(s) }, "1s").Should(BeEmpty())
		env.startOperator()
		expectMetrics(s, map[string]float64{"ready Scheduled": 1, "snapshots_created_total": 1})
	})
})

// onStandby has another manager hold the lease.
func onStandby(o *operator) { o.lock = foreignLock{} }

// foreignLock is always held by another manager.
type foreignLock struct{}

var errHeld = errors.New("another manager leads")

func (foreignLock) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	now := metav1.Now()
	return &resourcelock.LeaderElectionRecord{
		HolderIdentity: "another", LeaseDurationSeconds: 3600, AcquireTime: now, RenewTime: now,
	}, []byte("held"), nil
}
func (foreignLock) Create(context.Context, resourcelock.LeaderElectionRecord) error { return errHeld }
func (foreignLock) Update(context.Context, resourcelock.LeaderElectionRecord) error { return errHeld }
func (foreignLock) RecordEvent(string)                                              {}
func (foreignLock) Identity() string                                                { return "this one" }
func (foreignLock) Describe() string                                                { return "a lock held by another manager" }
