// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
	"mapcontroller.dev/snapshotschedule/internal/retention"
)

// family is what the registry tells of one metric.
type family struct {
	kind, help string
	series     []series
}

type series struct {
	labels map[string]string
	// values are one, unnamed, or those of a histogram.
	values map[string]float64
}

// gathered are the families of ours.
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
			s := series{labels: map[string]string{}, values: map[string]float64{}}
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

// seriesOf are the values of a schedule's metrics. The first part of the name and
// the labels of the schedule are left out.
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
				if label != labelNamespace && label != labelSchedule {
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

// live through all that a metric tells of.
func live(s *v1alpha1.SnapshotSchedule) {
	setStatus(noon, s, known(2, Note{OldestData: ago(time.Hour), NextSlot: in(time.Hour)}))
	p, _ := newPolicies().of(s)
	measure(noon, s, known(2, Note{OldestData: ago(time.Hour)}), p)
	outcome := mapcontroller.Outcome{Created: []client.Object{uncut(time.Minute).VolumeSnapshot}}
	for why := range retention.Superseded + 1 {
		if why.Delete() {
			outcome.Deleted = append(outcome.Deleted, mapcontroller.Deletion{Why: why.String()})
		}
	}
	countOutcome(noon, s, outcome)
	failedTotal.WithLabelValues(s.Namespace, s.Name).Inc()
	newReadiness(clocktesting.NewFakePassiveClock(noon)).
		updated(client.ObjectKeyFromObject(s), uncut(time.Minute).VolumeSnapshot, ready(time.Minute).VolumeSnapshot)
}

func scheduleNamed(name string) *v1alpha1.SnapshotSchedule {
	s := every("6h").SnapshotSchedule
	s.Name = name
	return s
}

// What Metrics says is what the registry holds, and Prometheus' own linter has
// nothing to say of any.
//
// Contract: MET-3.
func TestMetricsAreAsDescribed(t *testing.T) {
	s := scheduleNamed("described")
	live(s)
	defer forgetMetrics(client.ObjectKeyFromObject(s))
	families := gathered(t)
	var names []string
	for _, m := range Metrics() {
		names = append(names, m.Name)
		f, ok := families[m.Name]
		if !ok {
			t.Errorf("%s is not registered, or tells nothing of a schedule that has all", m.Name)
			continue
		}
		if f.kind != m.Type || f.help != m.Help {
			t.Errorf("%s is a %s: %s\nwant a %s: %s", m.Name, f.kind, f.help, m.Type, m.Help)
		}
		labels := slices.Sorted(maps.Keys(f.series[0].labels))
		if want := slices.Sorted(slices.Values(m.Labels)); !slices.Equal(labels, want) {
			t.Errorf("%s has labels %v, want %v", m.Name, labels, want)
		}
		if bounded := []string{"namespace", "schedule", "reason", "state"}; slices.ContainsFunc(m.Labels, func(l string) bool {
			return !slices.Contains(bounded, l)
		}) {
			t.Errorf("%s has labels %v: of those but %v there may be any number", m.Name, m.Labels, bounded)
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
func TestMetricsOfAScheduleThatIsGoneGo(t *testing.T) {
	gone, stays := scheduleNamed("gone"), scheduleNamed("stays")
	live(gone)
	live(stays)
	before := seriesOf(t, client.ObjectKeyFromObject(stays))
	// All but active, which is of no schedule; snapshots has three more states,
	// and the deletes have more reasons.
	if len(before) < len(Metrics())-1+3+5 {
		t.Errorf("a schedule has only %v", before)
	}
	forgetMetrics(client.ObjectKeyFromObject(gone))
	if left := seriesOf(t, client.ObjectKeyFromObject(gone)); len(left) > 0 {
		t.Errorf("left are %v", left)
	}
	if after := seriesOf(t, client.ObjectKeyFromObject(stays)); !maps.Equal(after, before) {
		t.Errorf("the other schedule had %v, has %v", before, after)
	}
	forgetMetrics(client.ObjectKeyFromObject(stays))
}

// The first of its kind is an increase to Prometheus only if there was a zero.
func TestCountersBeginAtZero(t *testing.T) {
	s := scheduleNamed("idle")
	defer forgetMetrics(client.ObjectKeyFromObject(s))
	measure(noon, s, known(2), nil)
	got := seriesOf(t, client.ObjectKeyFromObject(s))
	want := []string{"snapshots_created_total", "snapshots_failed_total", "slot_to_creation_seconds count", "creation_to_ready_seconds count"}
	for _, why := range []string{"Expired", "NotSelected", "OverCap", "Replaced", "ClaimGone", "Superseded"} {
		want = append(want, "snapshots_deleted_total "+why)
	}
	for _, name := range want {
		if value, there := got[name]; !there || value != 0 {
			t.Errorf("%s is %v, %v, want 0", name, value, there)
		}
	}
	countOutcome(noon, s, mapcontroller.Outcome{Deleted: []mapcontroller.Deletion{{Why: "Expired"}}})
	measure(noon, s, known(2), nil)
	if got := seriesOf(t, client.ObjectKeyFromObject(s))["snapshots_deleted_total Expired"]; got != 1 {
		t.Errorf("after one more status it is %v, want 1", got)
	}
}

// What forgets and what begins at zero goes through these reasons one by one.
func TestDeletesAreFromTheFirstToTheLast(t *testing.T) {
	for why := range lastDelete + 1 {
		if why.Delete() != (why >= firstDelete) {
			t.Errorf("%s: %v", why, why.Delete())
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
	s := scheduleNamed("late")
	defer forgetMetrics(client.ObjectKeyFromObject(s))
	for _, slot := range []time.Time{
		ago(2 * time.Second), ago(time.Hour),
		in(time.Second), // our clock is behind the one that the slot was counted from
	} {
		v := newSnapshot(s, claim("data").PersistentVolumeClaim, slot)
		countOutcome(noon, s, mapcontroller.Outcome{Created: []client.Object{v}})
	}
	got := seriesOf(t, client.ObjectKeyFromObject(s))
	for key, want := range map[string]float64{"count": 3, "sum": 3602, "<=1": 1, "<=5": 2, "<=3600": 3} {
		if got["slot_to_creation_seconds "+key] != want {
			t.Errorf("%s is %v, want %v", key, got["slot_to_creation_seconds "+key], want)
		}
	}
}

// Contract: MET-1.
func TestCreationToReady(t *testing.T) {
	s := scheduleNamed("slow")
	defer forgetMetrics(client.ObjectKeyFromObject(s))
	r := newReadiness(clocktesting.NewFakePassiveClock(noon))
	for i, step := range []struct {
		before, after aSnapshot
		want          float64 // seconds together
	}{
		{uncut(time.Minute), uploading(time.Minute), 0},
		{uploading(time.Minute), ready(time.Minute), 60},
		{ready(time.Minute), ready(time.Minute), 60},     // a resync, or another field
		{uncut(time.Hour), ready(time.Hour), 3660},       // at once
		{uncut(-time.Second), ready(-time.Second), 3660}, // the API server's clock is ahead
		{ready(240 * time.Hour), uploading(240 * time.Hour), 3660},
		{uploading(240 * time.Hour), ready(240 * time.Hour), 3660}, // it was ready before
		{uploading(2 * time.Minute), ready(2 * time.Minute), 3780}, // that was another one
	} {
		r.updated(client.ObjectKeyFromObject(s), step.before.VolumeSnapshot, step.after.VolumeSnapshot)
		if got := seriesOf(t, client.ObjectKeyFromObject(s))["creation_to_ready_seconds sum"]; got != step.want {
			t.Errorf("step %d: %v seconds together, want %v", i, got, step.want)
		}
	}
	if got := seriesOf(t, client.ObjectKeyFromObject(s))["creation_to_ready_seconds count"]; got != 4 {
		t.Errorf("%v snapshots, want 4", got)
	}
}

func TestActiveWhileTheWorkIsDone(t *testing.T) {
	before := testutil.ToFloat64(active)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- tellActive(ctx) }()
	for testutil.ToFloat64(active) != before+1 {
		time.Sleep(time.Millisecond)
	}
	cancel()
	if err := <-ended; err != nil || testutil.ToFloat64(active) != before {
		t.Errorf("%v, active is %v", err, testutil.ToFloat64(active))
	}
}
