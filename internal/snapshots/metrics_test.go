// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"mapcontroller.dev/snapshotschedule/internal/inflight"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
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

// gathered returns the metrics of this package.
func gathered(t *testing.T) map[string]family {
	t.Helper()
	all, err := metrics.Registry.Gather()
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
			if one.labels[labelNamespace] != s.Namespace || one.labels[labelSchedule] != s.Name {
				continue
			}
			key := strings.TrimPrefix(name, "snapshotschedule_")
			for label, value := range one.labels {
				if label != labelNamespace && label != labelSchedule && value != "" {
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

// useAll makes every metric of a schedule have a value.
func useAll(s scheduleBuilder) {
	summary := known(2, &keyStatus{RecoveryPoint: ago(time.Hour), NextSlot: in(time.Hour)})
	summary.Spec = specOf(s)
	measure(noon, s.SnapshotSchedule, summary, setStatus(noon, s.SnapshotSchedule, summary))
	outcome := mapcontroller.Outcome{Created: []client.Object{uncut(time.Minute).VolumeSnapshot}}
	for reason := firstDelete; reason <= lastDelete; reason++ {
		outcome.Deleted = append(outcome.Deleted, mapcontroller.Removal{Reason: reason.String()})
	}
	outcome.Failed = []mapcontroller.Failure{failure(mapcontroller.VerbDelete, errors.New("denied"))}
	countOutcome(noon, s.SnapshotSchedule, outcome)
	failedTotal.WithLabelValues(s.Namespace, s.Name).Inc()
	unprotected.count.Store(ptr.To(func() map[string]int { return map[string]int{"shop": 1} }))
	f := newInFlight(Options{Clock: clocktesting.NewFakePassiveClock(noon), Stores: NewStores()}, 1)
	f.gate.Ask(noon, inflight.Request{}, inflight.Snapshot{Driver: testDriver, ReadyDeadline: time.Hour}, noon)
	inFlightGauges.of.Store(f)
	newReadiness(clocktesting.NewFakePassiveClock(noon)).
		observed(client.ObjectKeyFromObject(s), uncut(time.Minute).VolumeSnapshot, ready(time.Minute).VolumeSnapshot)
}

// measured returns a schedule whose metrics are dropped at the end of the test.
func measured(t *testing.T, name string) (scheduleBuilder, types.NamespacedName) {
	s := every("6h").named(name)
	key := client.ObjectKeyFromObject(s)
	t.Cleanup(func() { forgetMetrics(key) })
	return s, key
}

// The registry holds what Metrics describes, and Prometheus' linter accepts it.
//
// Contract: MET-3.
func TestMetricsMatchTheirDescription(t *testing.T) {
	defer unprotected.count.Store(nil)
	defer inFlightGauges.of.Store(nil)
	s, _ := measured(t, "described")
	useAll(s)
	families := gathered(t)
	var names []string
	for _, m := range Metrics() {
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
		t.Errorf("%s is not among Metrics", name)
	}
	problems, err := testutil.GatherAndLint(metrics.Registry, names...)
	if err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
}

// Contract: MET-1.
func TestForgetMetricsDropsThoseOfTheSchedule(t *testing.T) {
	deleted, deletedKey := measured(t, "deleted")
	stays, staysKey := measured(t, "stays")
	useAll(deleted)
	useAll(stays)
	before := seriesOf(t, staysKey)
	// All but active, which is of no schedule; snapshots has three more states,
	// and the deletes have more reasons.
	if len(before) < len(Metrics())-1+3+5 {
		t.Errorf("a schedule has only %v", before)
	}
	forgetMetrics(deletedKey)
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
	want := []string{"snapshots_created_total", "snapshots_failed_total", "slot_to_creation_seconds count", "creation_to_ready_seconds count"}
	for _, reason := range []string{"Expired", "NotSelected", "OverCap", "Replaced", "ClaimGone", "Superseded"} {
		want = append(want, "snapshots_deleted_total "+reason)
	}
	for _, name := range want {
		if value, found := got[name]; !found || value != 0 {
			t.Errorf("%s is %v, %v, want 0", name, value, found)
		}
	}
	countOutcome(noon, s.SnapshotSchedule, mapcontroller.Outcome{Deleted: []mapcontroller.Removal{{Reason: "Expired"}}})
	measure(noon, s.SnapshotSchedule, known(0), combined{})
	if got := seriesOf(t, key)["snapshots_deleted_total Expired"]; got != 1 {
		t.Errorf("after one more status it is %v, want 1", got)
	}
}

// Metrics are started and forgotten for each reason between them.
func TestDeleteReasonsAreFirstToLast(t *testing.T) {
	for reason := range lastDelete + 1 {
		if reason.Delete() != (reason >= firstDelete) {
			t.Errorf("%s: %v", reason, reason.Delete())
		}
	}
	defer func() {
		if recover() == nil {
			t.Errorf("%s is a reason too", lastDelete+1)
		}
	}()
	_ = (lastDelete + 1).String()
}

// Contract: MET-1.
func TestSlotToCreation(t *testing.T) {
	s, key := measured(t, "late")
	for _, slot := range []time.Time{
		ago(2 * time.Second), ago(time.Hour),
		in(time.Second), // the local clock is behind the one that computed the slot
	} {
		v := newSnapshot(s.SnapshotSchedule, claim("data").PersistentVolumeClaim, nil, slot)
		countOutcome(noon, s.SnapshotSchedule, mapcontroller.Outcome{Created: []client.Object{v}})
	}
	got := seriesOf(t, key)
	for name, want := range map[string]float64{"count": 3, "sum": 3602, "<=1": 1, "<=5": 2, "<=3600": 3} {
		if got["slot_to_creation_seconds "+name] != want {
			t.Errorf("%s is %v, want %v", name, got["slot_to_creation_seconds "+name], want)
		}
	}
}

// Contract: MET-1.
func TestCreationToReady(t *testing.T) {
	_, key := measured(t, "slow")
	r := newReadiness(clocktesting.NewFakePassiveClock(noon))
	for i, step := range []struct {
		before, after snapshotBuilder
		want          float64 // sum of seconds
	}{
		{uncut(time.Minute), uploading(time.Minute), 0},
		{uploading(time.Minute), ready(time.Minute), 60},
		{ready(time.Minute), ready(time.Minute), 60},     // a resync, or another field
		{uncut(time.Hour), ready(time.Hour), 3660},       // cut and ready in one update
		{uncut(-time.Second), ready(-time.Second), 3660}, // the API server's clock is ahead
		{ready(240 * time.Hour), uploading(240 * time.Hour), 3660},
		{uploading(240 * time.Hour), ready(240 * time.Hour), 3660}, // it was ready before
		{uploading(2 * time.Minute), ready(2 * time.Minute), 3780}, // another one
	} {
		r.observed(key, step.before.VolumeSnapshot, step.after.VolumeSnapshot)
		if got := seriesOf(t, key)["creation_to_ready_seconds sum"]; got != step.want {
			t.Errorf("step %d: the sum is %v s, want %v", i, got, step.want)
		}
	}
	if got := seriesOf(t, key)["creation_to_ready_seconds count"]; got != 4 {
		t.Errorf("%v snapshots, want 4", got)
	}
}

func TestActiveWhileThisReplicaLeads(t *testing.T) {
	before := testutil.ToFloat64(active)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- reportActive(ctx) }()
	for testutil.ToFloat64(active) != before+1 {
		time.Sleep(time.Millisecond)
	}
	cancel()
	if err := <-ended; err != nil || testutil.ToFloat64(active) != before {
		t.Errorf("%v, active is %v", err, testutil.ToFloat64(active))
	}
}
