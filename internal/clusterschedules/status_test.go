// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterschedules

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
	"mapcontroller.dev/snapshotschedule/internal/report"
)

// checkStatus checks all of a status but its protection, see TestProtectionOfANamespace.
func checkStatus(t *testing.T, got any, want keyStatus) {
	t.Helper()
	k := *got.(*keyStatus)
	k.Protection = protection{}
	if !reflect.DeepEqual(k, want) {
		t.Errorf("got status %+v, want %+v", k, want)
	}
}

// summary returns a settled summary of some namespaces.
func summary(selected int, keys ...*keyStatus) mapcontroller.Summary {
	s := mapcontroller.Summary{Settled: true, Totals: map[string]int{namespacesTotal: selected, schedulesTotal: len(keys), schedulesReady: 1}}
	for _, k := range keys {
		s.Keys = append(s.Keys, k)
	}
	return s
}

func condition(f *fleetObject, kind string) string {
	c := meta.FindStatusCondition(f.Status.Conditions, kind)
	if c == nil {
		return ""
	}
	return fmt.Sprintf("%s %s %d: %s", c.Status, c.Reason, c.ObservedGeneration, c.Message)
}

func TestStatusSumsUpTheNamespaces(t *testing.T) {
	f := gold()
	older, newer := now.Add(-2*time.Hour), now.Add(-time.Hour)
	setStatus(now, f, summary(4,
		&keyStatus{Namespace: "b", Exists: true, Updated: true, Ready: true, Claims: 2, Skipped: 1, Snapshots: v1alpha1.OutputCount{Total: 10, Ready: 9}, RecoveryPoint: older},
		&keyStatus{Namespace: "a", Exists: true, Updated: true, Ready: true, Claims: 3, Snapshots: v1alpha1.OutputCount{Total: 5, Ready: 5}, RecoveryPoint: older},
		&keyStatus{Namespace: "c", Exists: true, Ready: true, Groups: &v1alpha1.OutputCount{Total: 2, Ready: 1}, RecoveryPoint: newer},
		&keyStatus{Namespace: "d", Groups: &v1alpha1.OutputCount{Total: 1}},
		&keyStatus{Namespace: "e", Exists: true, Updated: true, Ready: true, Detached: true, Snapshots: v1alpha1.OutputCount{Total: 1}},
	))
	at := metav1.NewTime(older)
	conditions := f.Status.Conditions
	f.Status.Conditions = nil
	want := v1alpha1.ClusterSnapshotScheduleStatus{
		ObservedGeneration:           3,
		Inputs:                       &v1alpha1.ClusterInputs{Namespaces: v1alpha1.NamespaceCount{Total: 4}},
		Outputs:                      v1alpha1.ClusterOutputs{SnapshotSchedules: v1alpha1.ScheduleCount{Total: 4, Updated: 3, Ready: 4}},
		Detached:                     &v1alpha1.ClusterDetached{SnapshotSchedules: 1},
		PersistentVolumeClaims:       &v1alpha1.ClaimTotals{Total: 5, Skipped: 1},
		VolumeSnapshots:              &v1alpha1.OutputCount{Total: 16, Ready: 14},
		VolumeGroupSnapshots:         &v1alpha1.OutputCount{Total: 3, Ready: 1},
		OldestRecoveryPointTime:      &at,
		OldestRecoveryPointNamespace: "a",
	}
	if f.Status.RecoveryPointTime != nil {
		t.Error("there is a recovery point, although namespace d has no SnapshotSchedule yet")
	}
	if !reflect.DeepEqual(f.Status, want) {
		t.Errorf("got %+v, want %+v", f.Status, want)
	}
	f.Status.Conditions = conditions
	if got := condition(f, "Ready"); got != "True Scheduled 3: 4 namespaces" {
		t.Errorf("got %s", got)
	}
	setStatus(now, f, summary(0))
	if f.Status.OldestRecoveryPointTime != nil || f.Status.OldestRecoveryPointNamespace != "" {
		t.Error("the oldest recovery point is of a namespace that is gone")
	}
}

// Contract: STAT-16.
func TestTheRecoveryPointIsAbsentUnlessEveryPVCIsKnownToHaveOne(t *testing.T) {
	good := keyStatus{Namespace: "a", Exists: true, RecoveryPoint: now.Add(-time.Hour)}
	none, uncounted := good, good
	none.Namespace, none.NoneReady = "b", true
	uncounted.Namespace, uncounted.Uncounted = "c", true
	left := keyStatus{Namespace: "d", Exists: true, Detached: true, Uncounted: true}
	for name, tc := range map[string]struct {
		keys []*keyStatus
		want bool
	}{
		"all have one":                    {[]*keyStatus{&good}, true},
		"one has none":                    {[]*keyStatus{&good, &none}, false},
		"one is not known":                {[]*keyStatus{&good, &uncounted}, false},
		"one has no SnapshotSchedule yet": {[]*keyStatus{&good, {Namespace: "e"}}, false},
		"one is no longer selected":       {[]*keyStatus{&good, &left}, true},
	} {
		t.Run(name, func(t *testing.T) {
			f := gold()
			setStatus(now, f, summary(len(tc.keys), tc.keys...))
			if got := f.Status.RecoveryPointTime != nil; got != tc.want || f.Status.OldestRecoveryPointTime == nil {
				t.Errorf("recoveryPointTime is %v, oldestRecoveryPointTime %v", f.Status.RecoveryPointTime, f.Status.OldestRecoveryPointTime)
			}
		})
	}
}

func TestConditions(t *testing.T) {
	failing := &keyStatus{Namespace: "shop", Exists: true, Problems: []problem{{"shop", "SnapshotsFailing", "why"}}}
	unsettled := summary(1, &keyStatus{Namespace: "shop"})
	unsettled.Settled = false
	invalid := summary(0)
	invalid.Invalid = errors.New("spec.template.spec.schedule: never fires")
	for name, test := range map[string]struct {
		known       mapcontroller.Summary
		want        string
		wantStalled string
	}{
		"scheduled":     {known: summary(1, &keyStatus{Exists: true}), want: "True Scheduled 3: 1 namespace"},
		"no namespace":  {known: summary(0), want: "True NoMatchingNamespaces 3: spec.namespaceSelector matches no namespace"},
		"failing":       {known: summary(2, failing), want: "False SchedulesFailing 3: 1 namespace failing: shop: SnapshotsFailing: why"},
		"a tombstone's": {known: summary(0, failing), want: "False SchedulesFailing 3: 1 namespace failing: shop: SnapshotsFailing: why"},
		"no API":        {known: summary(1, &keyStatus{APIMissing: true}, failing), want: "False SnapshotAPIMissing 3: VolumeSnapshots are not installed in this cluster: no snapshots are taken"},
		"kinds missing": {
			known: mapcontroller.Summary{Missing: []string{"A", "B"}}, want: "False SnapshotAPIMissing 3: not installed in this cluster: A, B", wantStalled: "none"},
		"not reconciled": {
			known: mapcontroller.Summary{}, want: "Unknown Reconciling 3: the operator has not reconciled every namespace yet", wantStalled: "none"},
		"invalid":        {known: invalid, want: "False InvalidSpec 3: spec.template.spec.schedule: never fires", wantStalled: "True InvalidSpec 3"},
		"not settled":    {known: unsettled, want: "True Scheduled 2: 1 namespace", wantStalled: "False ValidSpec 2"},
		"invalid before": {known: summary(1), want: "True Scheduled 3: 1 namespace"},
	} {
		t.Run(name, func(t *testing.T) {
			f := gold()
			f.Status.ObservedGeneration = 2
			if name == "invalid before" {
				setStatus(now, f, invalid)
			}
			setStatus(now, f, test.known)
			if got := condition(f, "Ready"); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
			if test.wantStalled == "" {
				test.wantStalled = "False ValidSpec 3"
			}
			test.wantStalled = strings.TrimPrefix(test.wantStalled, "none")
			if got := condition(f, "Stalled"); !strings.HasPrefix(got, test.wantStalled) {
				t.Errorf("got %s, want %s", got, test.wantStalled)
			}
		})
	}
}

// What is not known stays: while a kind is missing, and until every namespace is
// reconciled.
//
// Contract: STAT-12.
func TestStatusKeepsWhatIsNotKnown(t *testing.T) {
	for name, known := range map[string]mapcontroller.Summary{"a kind is missing": {Missing: []string{"A"}}, "not reconciled": {}} {
		t.Run(name, func(t *testing.T) {
			f := gold()
			setStatus(now, f, summary(1, &keyStatus{
				Namespace: "shop", Exists: true, Claims: 2, Snapshots: v1alpha1.OutputCount{Total: 5}, RecoveryPoint: now, Problems: []problem{{"shop", "SnapshotsFailing", "why"}}}))
			before := f.Status.DeepCopy()
			f.Generation++
			setStatus(now.Add(time.Hour), f, known)
			got := f.Status.DeepCopy()
			got.Conditions, before.Conditions = nil, nil
			if !reflect.DeepEqual(got, before) {
				t.Errorf("got %+v, want %+v", got, before)
			}
			want := "False SchedulesFailing 3"
			if len(known.Missing) > 0 {
				want = "False SnapshotAPIMissing 4"
			}
			if got := condition(f, "Ready"); !strings.HasPrefix(got, want) {
				t.Errorf("Ready is %s, want %s", got, want)
			}
		})
	}
}

// A child that counts nothing yet makes the sums unknown, not smaller.
//
// Contract: STAT-12.
func TestStatusHasNoSumsWithoutTheNumbersOfAChild(t *testing.T) {
	f := gold()
	counted := &keyStatus{Namespace: "a", Exists: true, Updated: true, Ready: true, Claims: 2, Snapshots: v1alpha1.OutputCount{Total: 5}}
	setStatus(now, f, summary(2, counted, &keyStatus{Namespace: "b", Exists: true, Uncounted: true}))
	if f.Status.VolumeSnapshots != nil || f.Status.PersistentVolumeClaims != nil {
		t.Errorf("got %+v and %+v", f.Status.VolumeSnapshots, f.Status.PersistentVolumeClaims)
	}
	setStatus(now, f, summary(2, counted, &keyStatus{Namespace: "b", Exists: true}))
	if f.Status.VolumeSnapshots == nil || f.Status.VolumeSnapshots.Total != 5 {
		t.Errorf("got %+v", f.Status.VolumeSnapshots)
	}
	setStatus(now, f, summary(3, counted, &keyStatus{Namespace: "b", Exists: true}, &keyStatus{Namespace: "c", Exists: true, Uncounted: true}))
	if f.Status.VolumeSnapshots != nil || f.Status.PersistentVolumeClaims != nil {
		t.Errorf("with a new child, got %+v and %+v", f.Status.VolumeSnapshots, f.Status.PersistentVolumeClaims)
	}
}

// Contract: STAT-13.
func TestMessagesAreBounded(t *testing.T) {
	f := gold()
	failing := &keyStatus{Namespace: strings.Repeat("n", 63), Problems: []problem{{strings.Repeat("n", 63), strings.Repeat("r", 1024), strings.Repeat("m", 5000)}}}
	known := summary(1, failing)
	for _, test := range []mapcontroller.Summary{known, {Invalid: errors.New(strings.Repeat("i", 5000))}, {Missing: []string{strings.Repeat("k", 5000)}}} {
		setStatus(now, f, test)
		for _, c := range f.Status.Conditions {
			if len(c.Message) > 1024 {
				t.Errorf("%s has a message of %d bytes", c.Type, len(c.Message))
			}
		}
		test.Refused = true
		setStatus(now, f, test)
		if got := condition(f, "Ready"); !strings.HasSuffix(got, report.RefusedMessage) {
			t.Errorf("refused, Ready is %s", got)
		}
	}
}

func TestAnInvalidSpecShowsNothingOfTheOneBefore(t *testing.T) {
	f := gold()
	setStatus(now, f, summary(1, &keyStatus{Namespace: "shop", Exists: true, Updated: true, Claims: 1, RecoveryPoint: now}))
	invalid := summary(0)
	invalid.Invalid, invalid.Totals[schedulesTotal] = errors.New("wrong"), 7
	setStatus(now, f, invalid)
	f.Status.Conditions = nil
	want := v1alpha1.ClusterSnapshotScheduleStatus{ObservedGeneration: 3,
		Outputs: v1alpha1.ClusterOutputs{SnapshotSchedules: v1alpha1.ScheduleCount{Total: 7, Ready: 1}}}
	if !reflect.DeepEqual(f.Status, want) {
		t.Errorf("got %+v", f.Status)
	}
}

// Nobody may take the counts of a generation before for those of an invalid one.
//
// Contract: STAT-12.
func TestAnInvalidSpecKeepsNoCountOfChildrenThatIsNotKnown(t *testing.T) {
	f := gold()
	f.Status.Outputs.SnapshotSchedules = v1alpha1.ScheduleCount{Total: 2, Updated: 2, Ready: 2}
	setStatus(now, f, mapcontroller.Summary{Settled: true, Invalid: errors.New("wrong")})
	if got := f.Status.Outputs.SnapshotSchedules; got != (v1alpha1.ScheduleCount{}) || f.Status.ObservedGeneration != f.Generation {
		t.Errorf("got %+v under generation %d", got, f.Status.ObservedGeneration)
	}
}

func TestProblemsAreTheWorstAndKeepTheirTime(t *testing.T) {
	var keys []*keyStatus
	reasons := []string{"AdoptionRefused", "SnapshotsFailing", "CreateFailed", "UpdateFailed"}
	for i := range 12 {
		name := fmt.Sprintf("n%02d", i)
		keys = append(keys, &keyStatus{Namespace: name, Problems: []problem{{name, reasons[i%4], "why"}}})
	}
	f := gold()
	setStatus(now, f, summary(12, keys...))
	slices.Reverse(keys)
	setStatus(now.Add(time.Hour), f, summary(12, keys...))
	var got []string
	for _, p := range f.Status.Problems {
		got = append(got, p.Namespace+" "+p.Reason)
		if !p.SinceTime.Time.Equal(now) {
			t.Errorf("%s since %s", p.Namespace, p.SinceTime)
		}
	}
	want := []string{"n02 CreateFailed", "n06 CreateFailed", "n10 CreateFailed", "n03 UpdateFailed", "n07 UpdateFailed", "n11 UpdateFailed",
		"n01 SnapshotsFailing", "n05 SnapshotsFailing", "n09 SnapshotsFailing", "n00 AdoptionRefused"}
	if !slices.Equal(got, want) || f.Status.MoreProblems != 2 {
		t.Errorf("got %q and %d more", got, f.Status.MoreProblems)
	}
	setStatus(now.Add(time.Hour), f, summary(12))
	if len(f.Status.Problems) != 0 || f.Status.MoreProblems != 0 {
		t.Errorf("got %v", f.Status.Problems)
	}
}

func TestReport(t *testing.T) {
	refused := apierrors.NewForbidden(v1alpha1.GroupVersion.WithResource("x").GroupResource(), "gold", errors.New("exceeded quota"))
	fail := func(verb mapcontroller.Verb, err error) mapcontroller.Outcome {
		return mapcontroller.Outcome{Failed: []mapcontroller.Failure{{Verb: verb, Object: child(), Err: err}}}
	}
	collision := fmt.Errorf("%w: gold", mapcontroller.ErrNameCollision)
	for name, test := range map[string]struct {
		previous, decided *keyStatus
		outcome           mapcontroller.Outcome
		// want are the reasons.
		want      []string
		wantEvent string
		wantNil   bool
	}{
		"nothing":                  {wantNil: true},
		"a status without a write": {decided: &keyStatus{}},
		"a create refused":         {decided: &keyStatus{}, outcome: fail(mapcontroller.VerbCreate, refused), want: []string{"CreateFailed"}, wantEvent: "Warning CreateFailed Namespace shop: "},
		"a collision":              {decided: &keyStatus{}, outcome: fail(mapcontroller.VerbCreate, collision), want: []string{"NameCollision"}, wantEvent: "Warning NameCollision Namespace shop: SnapshotSchedule gold exists"},
		"an update refused":        {decided: &keyStatus{}, outcome: fail(mapcontroller.VerbUpdate, refused), want: []string{"UpdateFailed"}, wantEvent: "Warning UpdateFailed"},
		"a delete refused":         {decided: &keyStatus{}, outcome: fail(mapcontroller.VerbDelete, refused), want: []string{"DeleteFailed"}, wantEvent: "Warning DeleteFailed"},
		"an adoption refused":      {decided: &keyStatus{}, outcome: fail(mapcontroller.VerbAdopt, refused), want: []string{"AdoptionRefused"}, wantEvent: "Warning AdoptionRefused"},
		"a release refused":        {outcome: fail(mapcontroller.VerbRelease, refused), want: []string{"ReleaseFailed"}, wantEvent: "Warning ReleaseFailed"},
		"refused again": {
			previous: &keyStatus{Problems: []problem{{"shop", "NameCollision", "SnapshotSchedule gold exists, but does not belong to this ClusterSnapshotSchedule; " +
				"delete it with --cascade=orphan, which keeps its snapshots, or set both labels to have it adopted"}}},
			decided: &keyStatus{}, outcome: fail(mapcontroller.VerbCreate, collision), want: []string{"NameCollision"}},
		"with a problem of the child": {
			decided: &keyStatus{Problems: []problem{{"shop", "SnapshotsFailing", "why"}}},
			outcome: fail(mapcontroller.VerbUpdate, refused), want: []string{"UpdateFailed", "SnapshotsFailing"}, wantEvent: "Warning UpdateFailed"},
	} {
		t.Run(name, func(t *testing.T) {
			recorder := events.NewFakeRecorder(10)
			var previous, decided any
			if test.previous != nil {
				previous = test.previous
			}
			if test.decided != nil {
				decided = test.decided
				published := *test.decided
				defer func() {
					if !reflect.DeepEqual(*test.decided, published) {
						t.Errorf("the decided status, which is in use, was changed: %+v", *test.decided)
					}
				}()
			}
			got := reporter{events: recorder}.report(gold(), "shop", previous, decided, test.outcome)
			if (got == nil) != test.wantNil {
				t.Fatalf("got %v", got)
			}
			var reasons []string
			if got != nil {
				for _, p := range got.(*keyStatus).Problems {
					reasons = append(reasons, p.Reason)
				}
			}
			if !slices.Equal(reasons, test.want) {
				t.Errorf("got %q, want %q", reasons, test.want)
			}
			event := ""
			select {
			case event = <-recorder.Events:
			default:
			}
			if !strings.HasPrefix(event, test.wantEvent) || (event == "") != (test.wantEvent == "") {
				t.Errorf("got event %q, want %q", event, test.wantEvent)
			}
		})
	}
}

func TestReportCountsWhatWasJustCreated(t *testing.T) {
	outcome := mapcontroller.Outcome{}
	outcome.Created = append(outcome.Created, child())
	got := reporter{}.report(gold(), "shop", nil, &keyStatus{Namespace: "shop"}, outcome)
	checkStatus(t, got, keyStatus{Namespace: "shop", Exists: true, Uncounted: true})
}

// Contract: STAT-12.
func TestReportCountsAChildUntilItsAdoptionIsRefused(t *testing.T) {
	none := keyStatus{Namespace: "shop"}
	adopting := keyStatus{Namespace: "shop", Exists: true, Uncounted: true}
	for name, test := range map[string]struct {
		err  error
		want keyStatus
	}{
		"refused":   {apierrors.NewForbidden(v1alpha1.GroupVersion.WithResource("x").GroupResource(), "gold", nil), none},
		"no answer": {context.DeadlineExceeded, adopting},
	} {
		t.Run(name, func(t *testing.T) {
			decided := adopting
			outcome := mapcontroller.Outcome{Failed: []mapcontroller.Failure{{Verb: mapcontroller.VerbAdopt, Object: child(), Err: test.err}}}
			got := reporter{events: events.NewFakeRecorder(1)}.report(gold(), "shop", nil, &decided, outcome).(*keyStatus)
			got.Problems = nil
			checkStatus(t, got, test.want)
		})
	}
}
