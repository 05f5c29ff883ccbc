// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/limits"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
	"mapcontroller.dev/snapshotschedule/internal/retention"
	"mapcontroller.dev/snapshotschedule/internal/snapshots/metrics"
)

// family is one metric as the registry gathers it.
type family struct {
	kind, help string
	series     []metricSeries
}

type metricSeries struct {
	labels map[string]string
	// values is one unnamed value, or those of a histogram.
	values map[string]float64
}

// testMetrics are those of all tests of this package, and testRegistry has only them.
var testMetrics, testRegistry = metrics.New(), prometheus.NewPedanticRegistry()

func init() { testRegistry.MustRegister(testMetrics) }

func measure(now time.Time, s *v1alpha1.SnapshotSchedule, known mapcontroller.Summary, sum combined) {
	testMetrics.Measure(client.ObjectKeyFromObject(s), figuresOf(now, s, known, sum))
}

func countOutcome(now time.Time, s *v1alpha1.SnapshotSchedule, outcome mapcontroller.Outcome) {
	c := clocktesting.NewFakePassiveClock(now)
	f := testInFlight(Options{Clock: c, Stores: NewStores()}, 0) // no cache has what was deleted
	newReporter(nil, c, f, testMetrics).count(client.ObjectKeyFromObject(s), outcome)
}

// gathered returns the metrics of this package.
func gathered(t *testing.T) map[string]family {
	t.Helper()
	all, err := testRegistry.Gather()
	must(t, err)
	ours := map[string]family{}
	for _, f := range all {
		if !strings.HasPrefix(f.GetName(), "snapshotschedule_") {
			continue
		}
		found := family{kind: strings.ToLower(f.GetType().String()), help: f.GetHelp()}
		for _, m := range f.GetMetric() {
			s := metricSeries{labels: map[string]string{}, values: map[string]float64{}}
			for _, l := range m.GetLabel() {
				s.labels[l.GetName()] = l.GetValue()
			}
			if h := m.GetHistogram(); h != nil {
				s.values[" count"], s.values[" sum"] = float64(h.GetSampleCount()), h.GetSampleSum()
				for _, b := range h.GetBucket() {
					s.values[fmt.Sprintf(" <=%v", b.GetUpperBound())] = float64(b.GetCumulativeCount())
				}
			} else {
				s.values[""] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
			}
			found.series = append(found.series, s)
		}
		ours[f.GetName()] = found
	}
	return ours
}

// seriesOf returns the values of a schedule's metrics, without the common prefix
// and the labels of the schedule.
func seriesOf(t *testing.T, s types.NamespacedName) map[string]float64 {
	t.Helper()
	found := map[string]float64{}
	for name, f := range gathered(t) {
		for _, one := range f.series {
			if one.labels["namespace"] != s.Namespace || one.labels["schedule"] != s.Name {
				continue
			}
			key := strings.TrimPrefix(name, "snapshotschedule_")
			for label, value := range one.labels {
				if label != "namespace" && label != "schedule" && value != "" {
					key += " " + value
				}
			}
			for which, value := range one.values {
				found[key+which] = value
			}
		}
	}
	return found
}

// useAll makes every metric of a schedule have a value, until the function that it returns is called.
func useAll(s scheduleBuilder) (resign func()) {
	summary := known(2, &keyStatus{
		RecoveryPoint: ago(time.Hour), NextSlot: in(time.Hour), protection: protectionCurrent, verified: new(ago(time.Hour)),
	})
	summary.Spec = specOf(s)
	measure(noon, s.SnapshotSchedule, summary, setStatus(noon, s.SnapshotSchedule, summary))
	outcome := mapcontroller.Outcome{Created: []client.Object{uncut(time.Minute).VolumeSnapshot}}
	for reason := retention.Expired; reason <= retention.KeepsClaim; reason++ {
		outcome.Deleted = append(outcome.Deleted, mapcontroller.Removal{Object: ready(0).VolumeSnapshot, Reason: reason.String()})
	}
	outcome.Failed = []mapcontroller.Failure{failure(mapcontroller.VerbDelete, errors.New("denied"))}
	countOutcome(noon, s.SnapshotSchedule, outcome)
	testMetrics.Failed(client.ObjectKeyFromObject(s))
	testMetrics.Retained(client.ObjectKeyFromObject(s))
	f := testInFlight(Options{Clock: clocktesting.NewFakePassiveClock(noon), Stores: NewStores()}, 1)
	f.limits.MayCreate(noon, limits.Create{Snapshot: limits.Snapshot{Limit: testDriver, ReadyDeadline: time.Hour}, Since: noon})
	return testMetrics.Lead(metrics.Sources{Drivers: f.counts, Unprotected: func() map[string]int { return map[string]int{"shop": 1} }})
}

// measured returns a schedule whose metrics are dropped at the end of the test.
func measured(t *testing.T, name string) (scheduleBuilder, types.NamespacedName) {
	s := every("6h").named(name)
	key := client.ObjectKeyFromObject(s)
	t.Cleanup(func() { testMetrics.Forget(key) })
	return s, key
}

// The registry holds what is described, and Prometheus' linter accepts it.
//
// Contract: MET-3.
func TestMetricsMatchTheirDescription(t *testing.T) {
	s, _ := measured(t, "described")
	defer useAll(s)()
	families := gathered(t)
	var names []string
	for _, m := range testMetrics.Described() {
		names = append(names, m.Name)
		f, ok := families[m.Name]
		if !ok {
			t.Errorf("%s is not registered, or has no value for a schedule that uses all", m.Name)
			continue
		}
		if f.kind != m.Type || f.help != m.Help {
			t.Errorf("%s is a %s: %s\nwant a %s: %s", m.Name, f.kind, f.help, m.Type, m.Help)
		}
		labels := slices.Sorted(maps.Keys(f.series[0].labels))
		if want := slices.Sorted(slices.Values(m.Labels)); !slices.Equal(labels, want) {
			t.Errorf("%s has labels %v, want %v", m.Name, labels, want)
		}
		if bounded := []string{"namespace", "schedule", "cluster_schedule", "reason", "state", "verb", "driver", "version", "revision", "goversion"}; slices.ContainsFunc(m.Labels, func(l string) bool {
			return !slices.Contains(bounded, l)
		}) {
			t.Errorf("%s has labels %v, and only the number of %v is bounded", m.Name, m.Labels, bounded)
		}
		delete(families, m.Name)
	}
	for name := range families {
		t.Errorf("%s is not described", name)
	}
	problems, err := testutil.GatherAndLint(testRegistry, names...)
	if err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
}

// Contract: MET-1.
func TestForgetMetricsDropsThoseOfTheSchedule(t *testing.T) {
	deleted, deletedKey := measured(t, "deleted")
	stays, staysKey := measured(t, "stays")
	defer useAll(deleted)()
	defer useAll(stays)()
	before := seriesOf(t, staysKey)
	// All but active, which is of no schedule; snapshots has three more states,
	// and the deletes have more reasons.
	if len(before) < len(testMetrics.Described())-1+3+5 {
		t.Errorf("a schedule has only %v", before)
	}
	testMetrics.Forget(deletedKey)
	if left := seriesOf(t, deletedKey); len(left) > 0 {
		t.Errorf("left are %v", left)
	}
	if after := seriesOf(t, staysKey); !maps.Equal(after, before) {
		t.Errorf("the other schedule had %v, has %v", before, after)
	}
}

// To Prometheus, the first event is an increase only if there was a zero before.
func TestCountersStartAtZero(t *testing.T) {
	s, key := measured(t, "idle")
	measure(noon, s.SnapshotSchedule, known(0), combined{})
	got := seriesOf(t, key)
	want := []string{"snapshots_created_total", "snapshots_failed_total", "slot_to_creation_seconds count"}
	for _, reason := range []string{"Expired", "NotSelected", "OverCap", "Replaced", "ClaimGone", "Superseded", "KeepsClaim"} {
		want = append(want, "snapshots_deleted_total "+reason)
	}
	for _, verb := range []string{"create", "update", "delete", "adopt", "release", "label"} {
		want = append(want, "refused_writes_total "+verb)
	}
	for _, name := range want {
		if value, found := got[name]; !found || value != 0 {
			t.Errorf("%s is %v, %v, want 0", name, value, found)
		}
	}
	countOutcome(noon, s.SnapshotSchedule, mapcontroller.Outcome{Deleted: []mapcontroller.Removal{{Object: ready(0).VolumeSnapshot, Reason: "Expired"}}})
	measure(noon, s.SnapshotSchedule, known(0), combined{})
	if got := seriesOf(t, key)["snapshots_deleted_total Expired"]; got != 1 {
		t.Errorf("after one more status it is %v, want 1", got)
	}
}

// Contract: MET-1.
func TestSlotToCreation(t *testing.T) {
	s, key := measured(t, "late")
	for _, slot := range []time.Time{
		ago(2 * time.Second), ago(time.Hour),
		in(time.Second), // the local clock is behind the one that computed the slot
	} {
		v := snapshotOf(s, claim("data"), nil, slot)
		countOutcome(noon, s.SnapshotSchedule, mapcontroller.Outcome{Created: []client.Object{v}})
	}
	got := seriesOf(t, key)
	for name, want := range map[string]float64{"count": 3, "sum": 3602, "<=1": 1, "<=5": 2, "<=3600": 3} {
		if got["slot_to_creation_seconds "+name] != want {
			t.Errorf("%s is %v, want %v", name, got["slot_to_creation_seconds "+name], want)
		}
	}
}
