// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
)

func (s scheduleBuilder) editDelay(d v1alpha1.Duration) scheduleBuilder {
	s.Spec.Retention.EditDelay = d
	return s
}

// recorded sets status.retention.
func (s scheduleBuilder) recorded(generation int64, since time.Time, d v1alpha1.Duration) scheduleBuilder {
	s.Status.Retention = record(generation, since, d)
	return s
}

func (s scheduleBuilder) confirming(generation string) scheduleBuilder {
	annotate(s, v1alpha1.AnnotationConfirmGeneration, generation)
	return s
}

func (s scheduleBuilder) generation(n int64) scheduleBuilder { s.Generation = n; return s }

func record(generation int64, since time.Time, d v1alpha1.Duration) *v1alpha1.RetentionRecord {
	return &v1alpha1.RetentionRecord{Generation: generation, SinceTime: metav1.NewTime(since), EditDelay: d}
}

// The schedule's generation is 3.
//
// Contract: EDIT-1, EDIT-2, EDIT-3.
func TestRecordOf(t *testing.T) {
	for name, tc := range map[string]struct {
		schedule scheduleBuilder
		want     *v1alpha1.RetentionRecord
	}{
		"no delay, no record":                {every("6h"), nil},
		"the first record":                   {every("6h").editDelay("1h"), record(3, noon, "1h")},
		"the same generation":                {every("6h").editDelay("1h").recorded(3, ago(time.Minute), "1h"), record(3, ago(time.Minute), "1h")},
		"long after an edit":                 {every("6h").editDelay("1h").recorded(3, ago(day), "1h"), record(3, ago(day), "1h")},
		"an edit":                            {every("6h").editDelay("1h").recorded(2, ago(day), "1h"), record(3, noon, "1h")},
		"a second edit within the delay":     {every("6h").editDelay("1h").recorded(2, ago(time.Minute), "1h"), record(3, noon, "1h")},
		"the delay is lengthened":            {every("6h").editDelay("2d").recorded(2, ago(day), "1h"), record(3, noon, "2d")},
		"the delay is shortened":             {every("6h").editDelay("60m").recorded(2, ago(day), "2d"), record(3, noon, "2d")},
		"the delay is removed":               {every("6h").recorded(2, ago(day), "1h"), record(3, noon, "1h")},
		"removed, a minute before its end":   {every("6h").recorded(3, ago(59*time.Minute), "1h"), record(3, ago(59*time.Minute), "1h")},
		"removed, at its end":                {every("6h").recorded(3, ago(time.Hour), "1h"), nil},
		"shortened, at the end of the older": {every("6h").editDelay("1h").recorded(3, ago(2*day), "2d"), record(3, ago(2*day), "1h")},
		"confirmed":                          {every("6h").editDelay("1h").recorded(3, ago(time.Minute), "2d").confirming("3"), record(3, ago(time.Minute), "1h")},
		"removed and confirmed":              {every("6h").recorded(3, ago(time.Minute), "1h").confirming("3"), nil},
		"confirmed before it is recorded":    {every("6h").editDelay("1h").recorded(2, ago(day), "2d").confirming("3"), record(3, noon, "1h")},
		"an older generation is confirmed":   {every("6h").editDelay("1h").recorded(2, ago(day), "2d").confirming("2"), record(3, noon, "2d")},
		"a clock that was ahead":             {every("6h").editDelay("1h").recorded(3, in(10*365*day), "2d"), record(3, noon, "2d")},
	} {
		t.Run(name, func(t *testing.T) {
			before := tc.schedule.DeepCopy()
			got := recordOf(tc.schedule.SnapshotSchedule, origin{}, noon)
			if !reflect.DeepEqual(got, tc.want) {
				t.Errorf("got %v, want %v", toJSON(got), toJSON(tc.want))
			}
			if changes := recordsTime(noon, tc.schedule.SnapshotSchedule, origin{}); changes != (toJSON(got) != toJSON(before.Status.Retention)) {
				t.Errorf("recordsTime is %v, before %s, after %s", changes, toJSON(before.Status.Retention), toJSON(got))
			}
			if !reflect.DeepEqual(tc.schedule.SnapshotSchedule, before) {
				t.Error("the schedule was changed")
			}
		})
	}
}

// A day-old snapshot would be deleted, one of an hour ago is the newest.
//
// Contract: EDIT-1, EDIT-2, EDIT-3, EDIT-4.
func TestDelaysKeepSnapshots(t *testing.T) {
	const old = "24h0m0s"
	// A readyDeadline that no row reaches: when a PVC without recent snapshots is no longer pending is not the point.
	strict := func() scheduleBuilder { return every("6h").suspended().ttl("2h").readyDeadline("10d") }
	snapshots := func() series { return series{ready(time.Hour), ready(day)} }
	expires := in(time.Hour) // the newest
	deleted := mapCase{wantDelete: []string{old}, wantReason: "Expired", wantEvidence: []string{"1h0m0s"}, wantNext: expires}
	kept := func(until time.Time) mapCase { return mapCase{wantNext: until} }
	with := func(m mapCase, s scheduleBuilder) mapCase {
		m.schedule, m.snapshots = s, snapshots()
		return m
	}
	runMap(t, map[string]mapCase{
		"no delay":                  with(deleted, strict()),
		"no record yet":             with(kept(expires), strict().editDelay("1h")),
		"a record of an older spec": with(kept(expires), strict().editDelay("1h").recorded(2, ago(day), "1h")),
		"a record of an older spec, and the delay was removed": with(kept(expires), strict().recorded(2, ago(day), "1h")),
		"a record of a later spec, as a cache that lags shows": with(kept(expires), strict().recorded(4, ago(day), "1h")),
		"within the delay":                                  with(kept(in(30*time.Minute)), strict().editDelay("1h").recorded(3, ago(30*time.Minute), "1h")),
		"within the older delay":                            with(kept(in(30*time.Minute)), strict().recorded(3, ago(30*time.Minute), "1h")),
		"the last second of the delay":                      with(kept(in(time.Second)), strict().editDelay("1h").recorded(3, ago(time.Hour-time.Second), "1h")),
		"the end of the delay":                              with(deleted, strict().editDelay("1h").recorded(3, ago(time.Hour), "1h")),
		"confirmed":                                         with(deleted, strict().editDelay("1h").recorded(3, ago(time.Minute), "1h").confirming("3")),
		"confirmed, before it is recorded":                  with(deleted, strict().editDelay("1h").confirming("3")),
		"the generation before is confirmed":                with(kept(in(59*time.Minute)), strict().editDelay("1h").recorded(3, ago(time.Minute), "1h").confirming("2")),
		"not a generation is confirmed":                     with(kept(in(59*time.Minute)), strict().editDelay("1h").recorded(3, ago(time.Minute), "1h").confirming("true")),
		"older than the schedule, in its first hour":        with(kept(in(time.Minute)), strict().created(ago(59*time.Minute))),
		"older than the schedule, after its first hour":     with(deleted, strict().created(ago(time.Hour))),
		"older than the schedule, with a longer delay":      with(kept(expires), strict().created(ago(2*time.Hour)).editDelay("5h").recorded(3, ago(5*time.Hour), "5h")),
		"older than the schedule, and confirmed":            with(deleted, strict().created(ago(time.Minute)).confirming("3")),
		"older than the schedule, confirmed, after an hour": with(deleted, strict().created(ago(time.Hour)).editDelay("1h").confirming("3")),
		"as old as the schedule, in its first second":       with(deleted, strict().created(ago(day))),
		"older than the schedule, until the spec's delay":   with(kept(in(20*time.Minute)), strict().created(ago(50*time.Minute)).recorded(3, ago(40*time.Minute), "1h")),
		"older than the schedule, beyond the spec's delay":  with(kept(in(10*time.Minute)), strict().created(ago(50*time.Minute)).editDelay("1m").recorded(3, ago(40*time.Minute), "1m")),
	})
}

// Contract: EDIT-1, EDIT-4.
func TestDelaysKeepSnapshotsOfDetachedSeries(t *testing.T) {
	runMap(t, map[string]mapCase{
		"a PVC that is gone": {
			gone: true, schedule: every("6h").ttl("1h").editDelay("1h").recorded(3, ago(time.Minute), "1h"),
			snapshots: series{ready(day), ready(2 * day)}, wantNext: in(59 * time.Minute),
		},
		"a PVC that is no longer selected": {
			tombstone: true, schedule: every("6h").ttl("1h").selecting("none").editDelay("1h").recorded(2, ago(day), "1h"),
			snapshots: series{ready(day), ready(2 * day)}, wantNext: never,
		},
	})
}

// Contract: EDIT-1, EDIT-4.
func TestDelaysDoNotKeepUncutSnapshots(t *testing.T) {
	protected := func() scheduleBuilder {
		return every("6h").created(ago(time.Minute)).editDelay("1h").recorded(2, ago(day), "1h")
	}
	runMap(t, map[string]mapCase{
		"one that failed, and a slot is due": {
			schedule: protected().requested(rfc3339(ago(time.Second))), snapshots: series{uncut(2 * time.Hour)},
			wantDelete: []string{"2h0m0s"}, wantReason: "Replaced", wantProblem: "SnapshotFailed",
		},
		"one whose PVC is gone": {
			gone: true, schedule: protected(), snapshots: series{uncut(time.Hour)}, wantDelete: []string{"1h0m0s"}, wantReason: "ClaimGone",
		},
		"one that expired": {
			tombstone: true, schedule: protected().selecting("none").ttl("1h"), snapshots: series{uncut(2 * time.Hour), ready(3 * time.Hour)},
			wantDelete: []string{"2h0m0s"}, wantReason: "Expired",
		},
	})
}

// Only what is older than the schedule is kept in its first hour.
//
// Contract: EDIT-4.
func TestDelaysCountWhatTheyKeep(t *testing.T) {
	all := series{ready(time.Minute), ready(2 * time.Hour), ready(3 * time.Hour), ready(day)}
	for name, tc := range map[string]struct {
		schedule   scheduleBuilder
		wantDelete []string
		want       keptForNow
	}{
		"old and new":          {every("6h").ttl("1h").created(ago(150 * time.Minute)), []string{"24h0m0s", "2h0m0s", "3h0m0s"}, keptForNow{}},
		"old and new, kept":    {every("6h").ttl("1h").created(ago(50 * time.Minute)), nil, keptForNow{adopted: 3}},
		"one is newer":         {every("6h").ttl("1h").created(ago(150*time.Minute)).editDelay("5h").recorded(3, ago(day), "5h"), []string{"2h0m0s"}, keptForNow{adopted: 2}},
		"the spec changed":     {every("6h").ttl("1h").editDelay("5h").recorded(3, ago(time.Hour), "5h"), nil, keptForNow{changed: 3}},
		"both":                 {every("6h").ttl("1h").created(ago(150 * time.Minute)).editDelay("5h"), nil, keptForNow{adopted: 2, changed: 1}},
		"without anything due": {every("6h").editDelay("5h"), nil, keptForNow{}},
	} {
		t.Run(name, func(t *testing.T) {
			m := mapCase{schedule: tc.schedule, snapshots: all}
			d := m.decider(t)(m.observe())
			if got := deletesOf(d); !slices.Equal(got, tc.wantDelete) {
				t.Errorf("deletes %v, want %v", got, tc.wantDelete)
			}
			if got := statusOf(d).KeptForNow; got != tc.want {
				t.Errorf("keptForNow %+v, want %+v", got, tc.want)
			}
		})
	}
}

// The delay is measured by the API server's clock: a local clock that is ahead, as far
// as the guards allow, does not shorten it.
//
// Contract: EDIT-1, GUARD-7.
func TestDelaysEndByTheServersClock(t *testing.T) {
	m := mapCase{
		schedule: every("6h").ttl("2h").editDelay("1h").recorded(3, ago(time.Hour-30*time.Second), "1h"), snapshots: series{ready(time.Hour), ready(day)},
	}
	for name, tc := range map[string]struct {
		now   time.Time
		ahead time.Duration
		want  bool
	}{
		"the clocks agree, too early": {noon, 0, false},
		"the clocks agree, in time":   {in(30 * time.Second), 0, true},
		"the local clock is ahead":    {in(30 * time.Second), 20 * time.Second, false},
		"and both reached the end":    {in(50 * time.Second), 20 * time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			seen := m.observe()
			seen.Now, seen.Ahead = tc.now, tc.ahead
			if got := len(m.decider(t)(seen).Delete) > 0; got != tc.want {
				t.Errorf("deletes: %v, want %v", got, tc.want)
			}
		})
	}
}

// Contract: EDIT-2, EDIT-5.
func TestSetStatusSaysWhatWaits(t *testing.T) {
	const confirm = "; to delete them now: kubectl annotate snapshotschedule -n 'shop' 'backup' --overwrite " +
		"snapshots.mapcontroller.dev/confirm-generation=3"
	changed, adopted := &keyStatus{KeptForNow: keptForNow{changed: 2}}, &keyStatus{KeptForNow: keptForNow{adopted: 1}}
	for name, tc := range map[string]struct {
		schedule   scheduleBuilder
		keys       []*keyStatus
		want       string
		wantText   string // of the condition's message
		serverTime time.Time
	}{
		"nothing waits": {every("6h").editDelay("1h").recorded(3, ago(time.Minute), "1h"), nil, "False RetentionRunning", "", noon},
		"the spec changed": {
			every("6h").editDelay("1h"), []*keyStatus{changed, {KeptForNow: keptForNow{changed: 1}}}, "True SpecChanged",
			"the spec changed: 3 of 6 VolumeSnapshots would be deleted under generation 3, and are kept until 2026-06-15T13:00:00Z" + confirm, noon,
		},
		"the API server's clock is not known": {
			every("6h").editDelay("1h"), []*keyStatus{changed, {}}, "True ClockSkew", pausedMessage, time.Time{},
		},
		"an earlier schedule left them": {
			every("6h").created(ago(time.Minute)), []*keyStatus{adopted, {}}, "True SnapshotsAdopted",
			"an earlier schedule of this name left snapshots: 1 of 6 VolumeSnapshots are older than this schedule, would be deleted, " +
				"and are kept until 2026-06-15T12:59:00Z" + confirm, noon,
		},
		"both": {
			every("6h").created(ago(time.Minute)).editDelay("3h"), []*keyStatus{adopted, changed}, "True SnapshotsAdopted",
			"an earlier schedule of this name left snapshots: 1 of 6 VolumeSnapshots are older than this schedule, would be deleted, " +
				"and are kept until 2026-06-15T15:00:00Z; 2 more would be deleted, and wait because the spec changed" + confirm, noon,
		},
		"both, confirmed a moment ago": {
			every("6h").created(ago(time.Minute)).confirming("3"), []*keyStatus{adopted, changed}, "False RetentionRunning", "", noon,
		},
		"confirmed a moment ago": {every("6h").editDelay("1h").confirming("3"), []*keyStatus{changed, {}}, "False RetentionRunning", "", noon},
		"the clocks differ": {
			every("6h").editDelay("1h"), []*keyStatus{changed, {Paused: true}}, "True ClockSkew", pausedMessage, noon,
		},
	} {
		t.Run(name, func(t *testing.T) {
			k := known(2, tc.keys...)
			k.ServerTime = tc.serverTime
			setStatus(noon, tc.schedule.SnapshotSchedule, k)
			got := meta.FindStatusCondition(tc.schedule.Status.Conditions, v1alpha1.ConditionRetentionPaused)
			if is := string(got.Status) + " " + got.Reason; is != tc.want {
				t.Errorf("RetentionPaused is %q, want %q", is, tc.want)
			}
			if tc.wantText != "" && got.Message != tc.wantText {
				t.Errorf("message\n%s, want\n%s", got.Message, tc.wantText)
			}
		})
	}
}

// Contract: EDIT-2, EDIT-5.
func TestSetStatusRecordsByTheServersClock(t *testing.T) {
	s := every("6h").editDelay("1h")
	setStatus(noon, s.SnapshotSchedule, known(1))
	if s.Status.Retention != nil {
		t.Errorf("recorded without the API server's time: %s", toJSON(s.Status.Retention))
	}
	for name, k := range map[string]func() any{
		"valid": func() any { k := known(1); k.ServerTime = in(day); setStatus(noon, s.SnapshotSchedule, k); return nil },
		"invalid": func() any {
			k := invalid("why")
			k.ServerTime = in(day)
			setStatus(noon, s.SnapshotSchedule, k)
			return nil
		},
		"a kind is missing": func() any {
			k := missing("vs")
			k.ServerTime = in(day)
			setStatus(noon, s.SnapshotSchedule, k)
			return nil
		},
	} {
		s.Status.Retention = nil
		k()
		if want := record(3, in(day), "1h"); toJSON(s.Status.Retention) != toJSON(want) {
			t.Errorf("%s: recorded %s, want %s", name, toJSON(s.Status.Retention), toJSON(want))
		}
	}
}

// An edit raises one event, however many PVCs it concerns.
//
// Contract: EDIT-5, EVT-2.
func TestReportWarnsOnceThatSnapshotsWait(t *testing.T) {
	r := newTestReporter()
	created := every("6h")
	created.UID = "created-again"
	for i, step := range []struct {
		schedule   scheduleBuilder
		mapKey     string
		keptForNow keptForNow
		want       string
	}{
		{every("6h"), "a", keptForNow{}, ""},
		{every("6h"), "a", keptForNow{adopted: 2}, "an earlier schedule"},
		{every("6h"), "b", keptForNow{adopted: 1}, ""},
		{every("6h"), "a", keptForNow{}, ""},
		{every("6h"), "a", keptForNow{changed: 1}, "the spec changed"},
		{every("6h"), "b", keptForNow{changed: 3}, ""},
		{every("6h").generation(4), "b", keptForNow{changed: 3}, "the spec changed"},
		{every("6h").generation(4), "a", keptForNow{changed: 3}, ""},
		{every("6h").generation(4).named("other"), "a", keptForNow{changed: 3}, "the spec changed"},
		{created.generation(4), "a", keptForNow{changed: 3}, "the spec changed"},
	} {
		_, events := r.pass(step.schedule, step.mapKey, &keyStatus{Claim: "data", KeptForNow: step.keptForNow}, mapcontroller.Outcome{})
		if want := step.want != ""; want != (len(events) == 1) || want && !strings.Contains(events[0], "Warning RetentionPaused "+step.want) {
			t.Errorf("step %d: events %q, want %q", i, events, step.want)
		}
	}
	r.forget(types.NamespacedName{Namespace: "shop", Name: "backup"})
	if len(r.reported) != 1 {
		t.Errorf("a schedule that was deleted is remembered: %v", r.reported)
	}
}

// Contract: EDIT-2, EDIT-3.
func TestScheduleChangedWakesKeys(t *testing.T) {
	plain := func() scheduleBuilder { return every("6h").editDelay("1h").recorded(3, noon, "1h") }
	for name, tc := range map[string]struct {
		after scheduleBuilder
		want  bool
	}{
		"nothing":              {plain(), false},
		"another status field": {func() scheduleBuilder { s := plain(); s.Status.ObservedGeneration = 3; return s }(), false},
		"a request":            {plain().requested(rfc3339(noon)), true},
		"a confirmation":       {plain().confirming("3"), true},
		"the record":           {plain().recorded(3, noon, "2h"), true},
		"the record is lost":   {every("6h").editDelay("1h"), true},
		"it becomes a child":   {plain().controlled(), true},
	} {
		if got := scheduleChanged(plain().SnapshotSchedule, tc.after.SnapshotSchedule); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}

// Preview takes no shortcut while deletes may wait. The schedule's generation is 3.
//
// Contract: EDIT-1, EDIT-4.
func TestJudgeDelays(t *testing.T) {
	scheme := runtime.NewScheme()
	must(t, clientgoscheme.AddToScheme(scheme))
	must(t, snapshotv1.AddToScheme(scheme))
	must(t, groupv1.AddToScheme(scheme))
	must(t, v1alpha1.AddToScheme(scheme))
	for name, tc := range map[string]struct {
		schedule scheduleBuilder
		want     bool
	}{
		"no delay":                          {every("6h"), false},
		"a change that is not recorded yet": {every("6h").editDelay("1h"), true},
		"a record of another generation":    {every("6h").recorded(2, ago(day), "1h"), true},
		"within the delay":                  {every("6h").editDelay("1h").recorded(3, ago(59*time.Minute), "1h"), true},
		"at its end":                        {every("6h").editDelay("1h").recorded(3, ago(time.Hour), "1h"), false},
		"confirmed":                         {every("6h").editDelay("1h").recorded(3, ago(time.Minute), "1h").confirming("3"), false},
		"within the first hour":             {every("6h").created(ago(59 * time.Minute)), true},
		"within the first hour, confirmed":  {every("6h").created(ago(59 * time.Minute)).confirming("3"), false},
		"after the first hour":              {every("6h").created(ago(time.Hour)), false},
	} {
		t.Run(name, func(t *testing.T) {
			judge, err := NewJudge(scheme, tc.schedule.SnapshotSchedule, Classes{})
			must(t, err)
			if got := judge.Delays(noon); got != tc.want {
				t.Errorf("got %t, want %t", got, tc.want)
			}
		})
	}
}
