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
	"mapcontroller.dev/snapshotschedule/internal/schedule"
)

// gauges hold what the status of each schedule said when it was last worked
// out: they cost nothing but then, and say nothing that status does not.
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

// ruleOf returns the rule of a valid spec. It is compiled once for each generation.
func (g *figuresOfAll) ruleOf(s *v1alpha1.SnapshotSchedule) (*compiledRule, error) {
	g.mu.Lock()
	known := g.of[types.NamespacedName{Namespace: s.Namespace, Name: s.Name}].rule
	g.mu.Unlock()
	if known != nil && known.uid == s.UID && known.generation == s.Generation {
		return known, nil
	}
	spec, err := compile(&s.Spec)
	if err != nil {
		return nil, err
	}
	return &compiledRule{Rule: spec.rule, uid: s.UID, generation: s.Generation}, nil
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
				labels = append([]string{s.Namespace, s.Name}, labels...)
				found <- prometheus.MustNewConstMetric(k.desc, prometheus.GaugeValue, value, labels...)
			})
		}
	}
}

// measure keeps what a status that was just computed says. It is not ok where
// status has only conditions.
func measure(now time.Time, s *v1alpha1.SnapshotSchedule, sum combined, ok bool) {
	name := types.NamespacedName{Namespace: s.Namespace, Name: s.Name}
	if gauges.set(name, figuresOf(now, s, sum, ok)) {
		startCounting(name)
	}
}

// figures are those of one schedule.
type figures struct {
	ready  bool
	reason string
	// known is false where status has only conditions to tell: the spec is
	// invalid, or a kind is missing. A figure of before would be stale.
	known bool

	claims, failing, skipped int
	// snapshots, by state. Each is in one of them.
	readySnapshots, pending, failed, detached int
	recoveryPoint, nextSlot                   time.Time
	interval                                  time.Duration
	suspended, paused                         bool
	problems                                  int

	// rule is nil where the figures are not known.
	rule *compiledRule
}

// compiledRule is the rule of one generation of a schedule.
type compiledRule struct {
	schedule.Rule

	uid        types.UID
	generation int64
}

// figuresOf reads a status that was just computed.
func figuresOf(now time.Time, s *v1alpha1.SnapshotSchedule, sum combined, ok bool) figures {
	status := &s.Status
	f := figures{ready: meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionReady)}
	if c := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady); c != nil {
		f.reason = c.Reason
	}
	if !ok {
		return f
	}
	var err error
	if f.rule, err = gauges.ruleOf(s); err != nil {
		return f
	}
	f.known = true
	f.claims, f.failing, f.skipped = int(status.Inputs.PersistentVolumeClaims.Total), sum.Failing, sum.Skipped
	f.pending, f.failed, f.detached = sum.Pending, sum.Failed, int(status.Detached.VolumeSnapshots)
	f.readySnapshots = int(status.Outputs.VolumeSnapshots.Total) - f.pending - f.failed - f.detached
	f.recoveryPoint, f.nextSlot = sum.OldestData, timeIn(status.NextSnapshotTime)
	f.interval = intervalOf(f.rule.Rule, now)
	f.suspended = s.Spec.Suspend
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

// intervalOf is the time between two slots. Cron lines have no such thing: of
// the last gap and the next it is the longer one, so that on a Sunday what comes
// from Monday to Friday is not late.
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
