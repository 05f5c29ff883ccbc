// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
	"mapcontroller.dev/snapshotschedule/internal/report"
	"mapcontroller.dev/snapshotschedule/internal/schedule"
)

// gauges hold what the status of each schedule said when it was last computed.
// They cost nothing otherwise, and say nothing that status does not.
var gauges = figuresOfAll{of: map[types.NamespacedName]figures{}}

type figuresOfAll struct {
	mu sync.Mutex
	of map[types.NamespacedName]figures
}

// set returns whether the schedule is new here.
func (g *figuresOfAll) set(s types.NamespacedName, f figures) (added bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, known := g.of[s]
	g.of[s] = f
	return !known
}

func (g *figuresOfAll) forget(s types.NamespacedName) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.of, s)
}

// Describe implements prometheus.Collector.
func (g *figuresOfAll) Describe(descriptions chan<- *prometheus.Desc) {
	for _, k := range gaugeKinds {
		descriptions <- k.desc
	}
}

// Collect implements prometheus.Collector.
func (g *figuresOfAll) Collect(found chan<- prometheus.Metric) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for s, f := range g.of {
		for _, k := range gaugeKinds {
			k.read(&f, func(value float64, labels ...string) {
				report.Gauge(found, k.desc, value, append([]string{s.Namespace, s.Name}, labels...)...)
			})
		}
	}
}

// measure keeps what a status that was just computed says.
func measure(now time.Time, s *v1alpha1.SnapshotSchedule, known mapcontroller.Summary, sum combined) {
	name := types.NamespacedName{Namespace: s.Namespace, Name: s.Name}
	if gauges.set(name, figuresOf(now, s, known, sum)) {
		startCounting(name)
	}
}

// figures are those of one schedule.
type figures struct {
	ready  bool
	reason string
	// known is false where status has only conditions: the spec is invalid, or a kind
	// is missing. Earlier figures would be stale.
	known bool

	claims, failing, skipped int
	// snapshots, by state. Each is in one of them.
	readySnapshots, pending, failed, detached int
	recoveryPoint, nextSlot                   time.Time
	interval                                  time.Duration
	suspended, paused                         bool
	clusterSchedule                           string
	problems                                  int
}

// figuresOf reads a status that was just computed.
func figuresOf(now time.Time, s *v1alpha1.SnapshotSchedule, known mapcontroller.Summary, sum combined) figures {
	status := &s.Status
	f := figures{ready: meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionReady)}
	if c := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady); c != nil {
		f.reason = c.Reason
	}
	spec, ok := known.Spec.(*compiled)
	if !ok || known.Totals == nil {
		return f
	}
	f.known = true
	f.claims, f.failing, f.skipped = int(status.Inputs.PersistentVolumeClaims.Total), sum.Failing, sum.Skipped
	f.pending, f.failed, f.detached = sum.Pending, sum.Failed, int(status.Detached.VolumeSnapshots)
	f.readySnapshots = int(status.Outputs.VolumeSnapshots.Total) - f.pending - f.failed - f.detached
	f.recoveryPoint, f.nextSlot = sum.RecoveryPoint, timeIn(status.NextSnapshotTime)
	f.interval = intervalOf(spec.rule, now)
	f.suspended, f.clusterSchedule = s.Spec.Suspend, s.Labels[v1alpha1.LabelClusterSchedule]
	f.paused = meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionRetentionPaused)
	f.problems = len(status.Problems) + int(status.MoreProblems)
	return f
}

func timeIn(t *metav1.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.Time
}

// intervalOf returns the time between two slots. For a cron expression it is the
// longer of the gaps before and after the latest slot: a schedule from Monday to
// Friday is not late on a Sunday.
func intervalOf(rule schedule.Rule, now time.Time) time.Duration {
	if every := rule.Interval(); every > 0 {
		return every
	}
	line := rule.Timeline(time.Time{}, 0)
	latest, ok := line.Latest(now)
	if !ok {
		return 0
	}
	var gap time.Duration
	if previous, ok := line.Previous(latest); ok {
		gap = latest.Sub(previous)
	}
	if next, ok := line.Next(now); ok {
		gap = max(gap, next.Sub(latest))
	}
	return gap
}
