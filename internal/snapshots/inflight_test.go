// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/execute"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/plan"
)

// flight is an inFlight with one place, PVC data of a driver, and the keys that it
// enqueues.
type flight struct {
	*inFlight
	clock    *clocktesting.FakePassiveClock
	enqueued []string
}

func newFlight(limit int, cached ...client.Object) *flight {
	clock, stores := clocktesting.NewFakePassiveClock(noon), NewStores()
	for _, o := range cached {
		store := toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, toolscache.Indexers{})
		if err := store.Add(o); err != nil {
			panic(err)
		}
		stores.Add(o, store)
	}
	f := &flight{inFlight: newInFlight(Options{Clock: clock, Stores: stores}, limit), clock: clock}
	f.admission(func(req mapcontroller.Request, after time.Duration) {
		if after == 0 {
			f.enqueued = append(f.enqueued, req.MapKey)
		}
	})
	return f
}

var backupOfShop = types.NamespacedName{Namespace: "shop", Name: "backup"}

func keyOf(mapKey string) mapcontroller.Request {
	return mapcontroller.Request{Parent: backupOfShop, MapKey: mapKey}
}

// ask makes the part of a pass that creates a snapshot of a name, for a key of that
// name.
func (f *flight) ask(name string) bool {
	status := &keyStatus{turn: &turn{driver: testDriver, slot: noon, since: noon}}
	return f.admit(keyOf(name), mapcontroller.Plan{
		Create: []client.Object{uncut(0).named(name).VolumeSnapshot}, Key: plan.KeyStatus{Status: status},
	})
}

func (f *flight) counts() (inFlight, waiting int) {
	for _, c := range f.gate.Counts(f.clock.Now()) {
		inFlight, waiting = inFlight+c.InFlight, waiting+c.Waiting
	}
	return inFlight, waiting
}

// Contract: FLIGHT-2, FLIGHT-4.
func TestObservedSnapshotsInFlight(t *testing.T) {
	data := claim("data").of(testDriver).PersistentVolumeClaim
	for name, tc := range map[string]struct {
		snapshot snapshotBuilder
		schedule scheduleBuilder
		claim    client.Object
		want     int
	}{
		"uncut":                            {snapshot: uncut(time.Minute), want: 1},
		"cut":                              {snapshot: uploading(time.Minute)},
		"ready":                            {snapshot: ready(time.Minute)},
		"imported":                         {snapshot: imported(time.Minute)},
		"being deleted":                    {snapshot: uncut(time.Minute).deleting()},
		"uncut for an hour":                {snapshot: uncut(time.Hour)},
		"uncut for less":                   {snapshot: uncut(time.Hour - time.Second), want: 1},
		"uncut for an hour, deadline 2h":   {snapshot: uncut(time.Hour), schedule: every("6h").readyDeadline("2h")},
		"uncut for the deadline":           {snapshot: uncut(10 * time.Minute), schedule: every("6h").readyDeadline("10m")},
		"uncut for less than the deadline": {snapshot: uncut(9 * time.Minute), schedule: every("6h").readyDeadline("10m"), want: 1},
		"of an unknown driver":             {snapshot: uncut(time.Minute), claim: claim("data").PersistentVolumeClaim},
		"of a PVC that is gone":            {snapshot: uncut(time.Minute), claim: claim("other").of(testDriver).PersistentVolumeClaim},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.schedule.SnapshotSchedule == nil {
				tc.schedule = every("6h")
			}
			if tc.claim == nil {
				tc.claim = data
			}
			f := newFlight(1, tc.claim, tc.schedule.SnapshotSchedule)
			f.observed(backupOfShop, nil, tc.snapshot.VolumeSnapshot)
			if got, _ := f.counts(); got != tc.want {
				t.Fatalf("%d in flight, want %d", got, tc.want)
			}
			f.observed(backupOfShop, tc.snapshot.VolumeSnapshot, nil)
			if got, _ := f.counts(); got != 0 {
				t.Errorf("%d in flight after it was deleted", got)
			}
		})
	}
}

// A create that is certainly refused leaves its place to the next; one that may have
// happened does not.
//
// Contract: FLIGHT-1.
func TestReportedCreatesInFlight(t *testing.T) {
	notCreated := func(err error) mapcontroller.Outcome { return createFailures(err) }
	for name, tc := range map[string]struct {
		outcome mapcontroller.Outcome
		want    bool
	}{
		"created":        {outcome: mapcontroller.Outcome{Created: []client.Object{uncut(0).VolumeSnapshot}}},
		"exists already": {},
		"denied":         {outcome: notCreated(forbidden("quota")), want: true},
		"name taken":     {outcome: notCreated(fmt.Errorf("%w: x", execute.ErrNameCollision)), want: true},
		"too many":       {outcome: notCreated(apierrors.NewTooManyRequests("later", 1)), want: true},
		"unavailable":    {outcome: notCreated(apierrors.NewServiceUnavailable("later"))},
		"timed out":      {outcome: notCreated(errors.New("context deadline exceeded"))},
		"another write":  {outcome: mapcontroller.Outcome{Failed: []mapcontroller.Failure{failure(execute.VerbDelete, forbidden("no"))}}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFlight(1)
			if !f.ask("a") || f.ask("b") {
				t.Fatal("not one of two is admitted")
			}
			f.reported(keyOf("a"), tc.outcome)
			if got := slices.Equal(f.enqueued, []string{"b"}); got != tc.want {
				t.Errorf("enqueued %v", f.enqueued)
			}
			f.reported(keyOf("b"), mapcontroller.Outcome{Queued: true})
			f.reported(keyOf("a"), createFailures(forbidden("of a later pass that was not admitted")))
			if inFlight, waiting := f.counts(); inFlight != 1 || (waiting == 0) != tc.want {
				t.Errorf("%d in flight, %d wait", inFlight, waiting)
			}
		})
	}
}

// A key that has nothing to create any more leaves the line.
func TestKeysLeaveTheLine(t *testing.T) {
	f := newFlight(1)
	f.ask("a")
	f.ask("b")
	if !f.admit(keyOf("b"), mapcontroller.Plan{}) {
		t.Error("a plan without creates waits")
	}
	if _, waiting := f.counts(); waiting != 0 {
		t.Errorf("%d wait", waiting)
	}
}

// decidedPass decides about PVC data and reports that what is due waits for its turn, if
// it is queued, or is created.
func (r *testReporter) decidedPass(t *testing.T, s scheduleBuilder, now time.Time, queued bool, snapshots ...snapshotBuilder) *keyStatus {
	t.Helper()
	p, err := newProgram(s.SnapshotSchedule, false)
	must(t, err)
	status := p.mapClaim(mapcontroller.Observation{
		Now: now, Selected: []client.Object{claim("data").of(testDriver).PersistentVolumeClaim}, Outputs: series(snapshots).objects(),
	}).Status.(*keyStatus)
	outcome := mapcontroller.Outcome{Queued: queued && status.waits()}
	if status.waits() && !queued {
		outcome.Created = []client.Object{uncut(0).VolumeSnapshot}
	}
	after, _ := r.pass(s, "data-uid", status, outcome)
	return after
}

// Contract: FLIGHT-5.
func TestWaitingIsNoFailureUntilOverdue(t *testing.T) {
	type pass struct {
		at          time.Duration // after the slot at noon
		queued      bool
		wantWaits   bool
		wantOverdue string // a part of the message
	}
	for name, passes := range map[string][]pass{
		"created at once":     {{}},
		"waits":               {{queued: true, wantWaits: true}},
		"waits, then created": {{queued: true, wantWaits: true}, {at: time.Minute}},
		"waits too long": {
			{queued: true, wantWaits: true}, {at: 30 * time.Minute, wantOverdue: "became too old while it waited"},
			{at: 40 * time.Minute, wantOverdue: "became too old while it waited"},
		},
		"waits too long, then for the next slot": {
			{queued: true, wantWaits: true}, {at: 30 * time.Minute, wantOverdue: "became too old"},
			{at: time.Hour, queued: true, wantWaits: true, wantOverdue: "a whole slot: too many snapshots of driver " + testDriver},
		},
		"too old without waiting": {{at: 30 * time.Minute}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newTestReporter()
			s, _ := measured(t, "waiting")
			s.Spec.SnapshotInterval, s.Spec.StartingDeadline = "1h", "30m"
			for i, p := range passes {
				got := r.decidedPass(t, s, noon.Add(p.at), p.queued, ready(time.Hour))
				if got.waits() != p.wantWaits {
					t.Errorf("pass %d: waits %v", i, got.waits())
				}
				if j := slices.IndexFunc(got.Problems, isOverdue); (j >= 0) != (p.wantOverdue != "") || j >= 0 && !strings.Contains(got.Problems[j].Message, p.wantOverdue) {
					t.Errorf("pass %d: problems %v, want %q", i, got.Problems, p.wantOverdue)
				}
			}
		})
	}
}

// What its creates failed for stays in status while a PVC waits, without new events.
func TestWaitingKeepsFailedCreates(t *testing.T) {
	r := newTestReporter()
	s, _ := measured(t, "waiting")
	waiting := func() *keyStatus { return &keyStatus{Claim: "data", turn: &turn{slot: noon, driver: testDriver}} }
	denied := createFailures(forbidden("exceeded quota"))
	if status, reported := r.pass(s, "data-uid", waiting(), denied); len(status.Problems) != 1 || len(reported) == 0 || status.waits() {
		t.Fatalf("problems %v, events %v", status.Problems, reported)
	}
	for range 2 {
		status, reported := r.pass(s, "data-uid", waiting(), mapcontroller.Outcome{Queued: true})
		if len(status.Problems) != 1 || status.Problems[0].Reason != v1alpha1.ReasonCreateFailed || len(reported) > 0 || !status.waits() {
			t.Errorf("while it waits: problems %v, events %v", status.Problems, reported)
		}
		if _, reported = r.pass(s, "data-uid", waiting(), denied); len(reported) > 0 {
			t.Errorf("failed again: events %v", reported)
		}
	}
}

// Contract: FLIGHT-5.
func TestStatusCountsWaitingClaims(t *testing.T) {
	waits := func(driver string) *keyStatus { return &keyStatus{turn: &turn{driver: driver}} }
	late := &keyStatus{turn: &turn{driver: "late", late: true}}
	for name, tc := range map[string]struct {
		keys []*keyStatus
		want string
	}{
		"none":        {[]*keyStatus{{}, late}, "3 PersistentVolumeClaims"},
		"one":         {[]*keyStatus{{}, waits("a")}, "3 PersistentVolumeClaims, 1 waiting for their turn (driver a)"},
		"two drivers": {[]*keyStatus{waits("b"), waits("a"), waits("b")}, "3 PersistentVolumeClaims, 3 waiting for their turn (drivers a, b)"},
		"some skipped": {
			[]*keyStatus{waits("a"), {Claim: "x", SkipReason: "not Bound"}},
			"3 PersistentVolumeClaims, 1 waiting for their turn (driver a), 1 skipped; first x: not Bound",
		},
	} {
		s := every("6h")
		summary := known(3, tc.keys...)
		setStatus(noon, s.SnapshotSchedule, summary)
		c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReady)
		if c.Message != tc.want || c.Reason != v1alpha1.ReasonScheduled {
			t.Errorf("%s: %s: %q, want %q", name, c.Reason, c.Message, tc.want)
		}
	}
}
