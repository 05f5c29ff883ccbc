// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
)

// testReporter reports passes as the engine does: with the key's previous status.
type testReporter struct {
	*reporter

	recorder *events.FakeRecorder
	previous map[types.UID]map[string]any
}

func newTestReporter() *testReporter {
	recorder, c := events.NewFakeRecorder(100), clocktesting.NewFakePassiveClock(noon)
	return &testReporter{
		reporter: newReporter(recorder, c, testInFlight(Options{Clock: c, Stores: NewStores()}, 0), testMetrics),
		recorder: recorder, previous: map[types.UID]map[string]any{},
	}
}

// pass reports one pass and returns the key's status, an empty one if it has
// none, and the events.
func (r *testReporter) pass(
	s scheduleBuilder, mapKey string, decided *keyStatus, outcome mapcontroller.Outcome,
) (status *keyStatus, reported []string) {
	keys := r.previous[s.UID]
	if keys == nil {
		keys = map[string]any{}
		r.previous[s.UID] = keys
	}
	var untyped any // a nil *keyStatus is not a decision without a status
	if decided != nil {
		untyped = decided
	}
	for _, inUse := range []any{keys[mapKey], untyped} { // status is computed from them meanwhile
		if k, _ := inUse.(*keyStatus); k != nil {
			published := k.deepCopy()
			defer func() {
				if !reflect.DeepEqual(k, published) {
					panic(fmt.Sprintf("a status that is in use was changed: %+v", k))
				}
			}()
		}
	}
	keys[mapKey] = r.report(s.SnapshotSchedule, mapKey, keys[mapKey], untyped, outcome)
	status, _ = keys[mapKey].(*keyStatus)
	if status == nil {
		status = &keyStatus{}
	}
	for {
		select {
		case e := <-r.recorder.Events:
			reported = append(reported, e)
		default:
			return status, reported
		}
	}
}

// deepCopy shares nothing that a pass could change.
func (k *keyStatus) deepCopy() *keyStatus {
	c := k.clone()
	if k.said != nil {
		c.said = new(*k.said)
		if k.said.error != nil {
			c.said.error = new(*k.said.error)
		}
	}
	if k.pending != nil {
		c.pending = new(*k.pending)
	}
	return c
}

func failure(verb mapcontroller.Verb, err error) mapcontroller.Failure {
	return mapcontroller.Failure{Verb: verb, Object: ready(0).named("data-20260615120000-abc").VolumeSnapshot, Err: err}
}

func createFailures(errs ...error) (o mapcontroller.Outcome) {
	for _, err := range errs {
		o.Failed = append(o.Failed, failure(mapcontroller.VerbCreate, err))
	}
	return o
}

func forbidden(why string) error {
	kind := schema.GroupResource{Group: "snapshot.storage.k8s.io", Resource: "volumesnapshots"}
	return apierrors.NewForbidden(kind, "data-20260615120000-abc", errors.New(why))
}

// Contract: EVT-2, EVT-5.
func TestReportFailedWrites(t *testing.T) {
	tests := map[string]struct {
		failure     mapcontroller.Failure
		wantReason  string
		wantMessage string // a part of it
	}{
		"refused create": {failure(mapcontroller.VerbCreate, forbidden("exceeded quota")), v1alpha1.ReasonCreateFailed, "exceeded quota"},
		"create that timed out": {
			failure(mapcontroller.VerbCreate, errors.New("context deadline exceeded")), v1alpha1.ReasonCreateFailed, "context deadline exceeded",
		},
		"name taken": {
			failure(mapcontroller.VerbCreate, fmt.Errorf("%w: x", mapcontroller.ErrNameCollision)), v1alpha1.ReasonNameCollision,
			"VolumeSnapshot data-20260615120000-abc exists, but does not belong to this schedule",
		},
		"refused adoption": {
			failure(mapcontroller.VerbAdopt, fmt.Errorf("%w: the owner is gone", mapcontroller.ErrAdoptionRefused)), v1alpha1.ReasonAdoptionRefused,
			"VolumeSnapshot data-20260615120000-abc is left alone",
		},
		"refused adoption by the API server": {
			failure(mapcontroller.VerbAdopt, forbidden("not allowed")), v1alpha1.ReasonAdoptionRefused, "is left alone: ",
		},
		"refused delete": {
			failure(mapcontroller.VerbDelete, forbidden("legal hold")), v1alpha1.ReasonDeleteFailed,
			"VolumeSnapshot data-20260615120000-abc: ",
		},
		"refused release": {
			failure(mapcontroller.VerbRelease, forbidden("not allowed")), v1alpha1.ReasonReleaseFailed,
			"VolumeSnapshot data-20260615120000-abc: ",
		},
		"failed update is only retried": {failure(mapcontroller.VerbUpdate, errors.New("timeout")), "", ""},
	}
	for name, tc := range tests {
		// A key whose PVC is deleted may have no status of its own.
		for decision, decided := range map[string]*keyStatus{"with status": {Claim: "data"}, "without status": nil} {
			t.Run(name+", "+decision, func(t *testing.T) {
				status, got := newTestReporter().pass(every("6h"), "k", decided, mapcontroller.Outcome{Failed: []mapcontroller.Failure{tc.failure}})
				if tc.wantReason == "" {
					if len(status.Problems)+len(got) != 0 {
						t.Errorf("problems %v, events %v, want none", status.Problems, got)
					}
					return
				}
				if len(status.Problems) != 1 || status.Problems[0].Reason != tc.wantReason || status.Problems[0].Claim != "data" ||
					!strings.Contains(status.Problems[0].Message, tc.wantMessage) {
					t.Errorf("problems are %+v, want %s: %s", status.Problems, tc.wantReason, tc.wantMessage)
				}
				prefixes := []string{"PersistentVolumeClaim data: "}
				if decided != nil { // the PVC is selected, and has an event of its own
					prefixes = append(prefixes, "SnapshotSchedule backup: ")
				}
				if len(got) != len(prefixes) {
					t.Fatalf("events are %v", got)
				}
				for i, prefix := range prefixes {
					if !strings.HasPrefix(got[i], "Warning "+tc.wantReason+" "+prefix) || !strings.Contains(got[i], tc.wantMessage) {
						t.Errorf("event %d is %s", i, got[i])
					}
				}
			})
		}
	}
}

// The message contains nothing that differs between attempts.
//
// Contract: STAT-7.
func TestCreateFailedMessageSettles(t *testing.T) {
	const reset = "read tcp 10.0.0.1:51234->10.0.0.2:443: read: connection reset by peer"
	const settled = "read tcp 10.0.0.2:443: read: connection reset by peer"
	for name, tc := range map[string]struct {
		err  error
		want string
	}{
		"without the name, which contains the slot": {
			forbidden("exceeded quota: q"), "volumesnapshots.snapshot.storage.k8s.io is forbidden: exceeded quota: q",
		},
		"without the local port": {
			&url.Error{Op: "Post", URL: "https://10.0.0.2:443/apis", Err: errors.New(reset)}, `Post "https://10.0.0.2:443/apis": ` + settled,
		},
		"without the port of a webhook's caller": {
			apierrors.NewInternalError(errors.New("failed calling webhook: " + reset)), "Internal error occurred: failed calling webhook: " + settled,
		},
		"without the local port of IPv6": {
			errors.New("read tcp [fd00::1]:51234->[fd00::2]:443: EOF"), "read tcp [fd00::2]:443: EOF",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if p := problemOf(failure(mapcontroller.VerbCreate, tc.err)); p.Message != tc.want {
				t.Errorf("message is %q, want %q", p.Message, tc.want)
			}
		})
	}
}

// Contract: EVT-1.
func TestReportEmitsOneEventPerNewProblem(t *testing.T) {
	r, s := newTestReporter(), every("6h")
	quota, denied := forbidden("exceeded quota"), forbidden("denied")
	for i, step := range []struct {
		mapKey string
		errs   []error
		want   int
	}{
		{"k", []error{quota}, 1},
		{"k", []error{quota}, 0},         // as before
		{"l", []error{quota}, 1},         // another PVC
		{"k", []error{denied}, 1},        // another message
		{"k", nil, 0},                    // fixed
		{"k", []error{denied}, 1},        // again
		{"k", []error{denied, quota}, 1}, // one more
	} {
		if _, got := r.pass(s, step.mapKey, nil, createFailures(step.errs...)); len(got) != step.want {
			t.Errorf("step %d: events %v, want %d", i, got, step.want)
		}
	}
}

func TestReportEmitsEventsForProblemsOfTheDecision(t *testing.T) {
	decided := withProblem("data", v1alpha1.ReasonSnapshotFailed, "m")
	want := slices.Clone(decided.Problems)
	status, got := newTestReporter().pass(every("6h"), "k", decided, mapcontroller.Outcome{})
	if !slices.Equal(got, []string{"Warning SnapshotFailed PersistentVolumeClaim data: m", "Warning SnapshotFailed SnapshotSchedule backup: m"}) {
		t.Errorf("events are %v", got)
	}
	if !slices.Equal(status.Problems, want) {
		t.Errorf("problems are %+v, want %+v", status.Problems, want)
	}
}

// The schedule's status may be computed from it at the same time.
func TestReportLeavesThePreviousStatusUnchanged(t *testing.T) {
	r, s := newTestReporter(), every("6h")
	first, _ := r.pass(s, "k", withProblem("data", v1alpha1.ReasonSnapshotSlow, "m"), createFailures(forbidden("denied")))
	before := *first
	before.Problems = slices.Clone(first.Problems)
	paused := createFailures(forbidden("exceeded quota"))
	paused.Paused = mapcontroller.ErrClockSkew
	r.pass(s, "k", withProblem("data", v1alpha1.ReasonSnapshotFailed, "m"), paused)
	if !reflect.DeepEqual(*first, before) {
		t.Errorf("the first pass's status is %+v now, was %+v", *first, before)
	}
}

// Contract: EVT-2.
func TestReportPaused(t *testing.T) {
	r, s := newTestReporter(), every("6h")
	paused := mapcontroller.Outcome{Paused: mapcontroller.ErrClockSkew}
	status, got := r.pass(s, "k", nil, paused)
	if !status.Paused || len(status.Problems) != 0 {
		t.Errorf("status is %+v, want it paused and without problems", status)
	}
	if len(got) != 1 || !strings.HasPrefix(got[0], "Warning RetentionPaused") {
		t.Errorf("events are %v", got)
	}
	if status, got = r.pass(s, "k", nil, paused); !status.Paused || len(got) != 0 {
		t.Errorf("paused still: status is %+v, events %v, want none", status, got)
	}
	if status, got = r.pass(s, "k", &keyStatus{}, mapcontroller.Outcome{}); status.Paused || len(got) != 0 {
		t.Errorf("the clocks agree again: status is %+v, events %v, want none", status, got)
	}
}

// A pass that waits with its deletes knows nothing new about the clock.
func TestReportStaysPausedWhileWaiting(t *testing.T) {
	r, s := newTestReporter(), every("1h")
	events := 0
	for i, step := range []struct {
		outcome mapcontroller.Outcome
		want    bool
	}{
		{mapcontroller.Outcome{Waiting: true}, false},
		{mapcontroller.Outcome{Paused: mapcontroller.ErrClockSkew}, true},
		{mapcontroller.Outcome{Waiting: true}, true},
		{mapcontroller.Outcome{Paused: mapcontroller.ErrClockSkew}, true},
		{mapcontroller.Outcome{}, false},
	} {
		status, got := r.pass(s, "k", nil, step.outcome)
		if status.Paused != step.want {
			t.Errorf("step %d: paused %v, want %v", i, status.Paused, step.want)
		}
		events += len(got)
	}
	if events != 1 {
		t.Errorf("%d events, want 1", events)
	}
}

// A malformed annotation of the schedule is reported once, not for every PVC.
//
// Contract: API-7.
func TestReportScheduleProblemOnce(t *testing.T) {
	r, s := newTestReporter(), every("6h").requested("tomorrow")
	var all []string
	for _, mapKey := range []string{"k", "l", "m", "k"} {
		status, got := r.pass(s, mapKey, &keyStatus{}, mapcontroller.Outcome{})
		if len(status.Problems) != 0 {
			t.Errorf("status of a PVC is %+v", status)
		}
		all = append(all, got...)
	}
	if len(all) != 1 || !strings.HasPrefix(all[0], "Warning InvalidRequestedAt annotation ") || !strings.Contains(all[0], `"tomorrow"`) ||
		!strings.HasSuffix(all[0], "; to take one now: kubectl snapsched snapshot -n 'shop' 'backup'") {
		t.Errorf("events are %v", all)
	}
	r.pass(every("6h"), "k", nil, mapcontroller.Outcome{})
	if _, got := r.pass(s, "k", nil, mapcontroller.Outcome{}); len(got) != 1 {
		t.Errorf("after it was fixed and malformed again: events %v, want 1", got)
	}
	r.forget(client.ObjectKeyFromObject(s))
	if _, got := r.pass(s, "k", nil, mapcontroller.Outcome{}); len(got) != 1 {
		t.Errorf("after the schedule was deleted: events %v, want 1", got)
	}
}

// The informer may show a schedule that is deleted and created again as updated.
//
// Contract: EVT-1.
func TestReportEmitsEventsForARecreatedSchedule(t *testing.T) {
	r := newTestReporter()
	for _, uid := range []types.UID{"one", "two"} {
		s := every("6h").requested("tomorrow")
		s.UID = uid
		if _, got := r.pass(s, "k", nil, createFailures(forbidden("quota"))); len(got) != 2 {
			t.Errorf("schedule %s: events %v, want 2", uid, got)
		}
	}
}

// A slot without a snapshot is no event: it lasts, and status shows it.
func TestReportEmitsNoEventForWhatDidNotHappen(t *testing.T) {
	for _, reason := range []string{v1alpha1.ReasonSnapshotOverdue, v1alpha1.ReasonSnapshotSlow} {
		t.Run(reason, func(t *testing.T) {
			status, got := newTestReporter().pass(every("1h"), "k", withProblem("data", reason, "m"), mapcontroller.Outcome{})
			if len(got) > 0 {
				t.Errorf("events %q, want none", got)
			}
			if len(status.Problems) != 1 {
				t.Errorf("problems %v, want the one", status.Problems)
			}
		})
	}
}

// Many refused writes of one kind are one problem, and a failed release of which only
// the metadata is known, or of the schedule's finalizer, is one without a PVC.
//
// Contract: EVT-2.
func TestReportRefusedWritesTogether(t *testing.T) {
	released := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "released"}}
	denied := errors.New("denied")
	for name, tc := range map[string]struct {
		failed []mapcontroller.Failure
		want   string
	}{
		"three deletes": {
			[]mapcontroller.Failure{
				failure(mapcontroller.VerbDelete, denied), failure(mapcontroller.VerbDelete, errors.New("other")), failure(mapcontroller.VerbDelete, denied),
			},
			"data: DeleteFailed: VolumeSnapshot data-20260615120000-abc: denied; and 2 more",
		},
		"a snapshot without a map key": {
			[]mapcontroller.Failure{{Verb: mapcontroller.VerbRelease, Object: released, Err: denied}},
			"ReleaseFailed: VolumeSnapshot released: denied",
		},
		"the finalizer": {
			[]mapcontroller.Failure{{Verb: mapcontroller.VerbRelease, Object: every("6h").SnapshotSchedule, Err: denied}},
			"ReleaseFailed: denied",
		},
	} {
		t.Run(name, func(t *testing.T) {
			status, events := newTestReporter().pass(every("6h"), "k", nil, mapcontroller.Outcome{Failed: tc.failed})
			if len(status.Problems) != 1 || status.Problems[0].String() != tc.want || len(events) != 1 {
				t.Errorf("problems %v, events %v, want %q", status.Problems, events, tc.want)
			}
		})
	}
}

// Contract: EVT-4.
func TestReportCounts(t *testing.T) {
	r, s := newTestReporter(), every("1h").named("counted")
	r.pass(s, "k", withProblem("data", v1alpha1.ReasonSnapshotFailed, "m"), mapcontroller.Outcome{
		Created: []client.Object{ready(0).VolumeSnapshot},
		Deleted: []mapcontroller.Removal{
			{Object: ready(1).VolumeSnapshot, Reason: "Expired"}, {Object: ready(2).VolumeSnapshot, Reason: "Expired"},
			{Object: ready(3).VolumeSnapshot, Reason: "OverCap"},
		},
		Failed: []mapcontroller.Failure{
			failure(mapcontroller.VerbDelete, errors.New("denied")),
			{Verb: mapcontroller.VerbDelete, Object: ready(0).VolumeSnapshot, Err: errors.New("denied"), BackingOff: true},
		},
	})
	r.pass(s, "k", withProblem("data", v1alpha1.ReasonSnapshotFailed, "m"), mapcontroller.Outcome{})
	for name, tc := range map[string]struct {
		series string
		want   float64
	}{
		"created":                         {"snapshots_created_total", 1},
		"deleted, expired":                {"snapshots_deleted_total Expired", 2},
		"deleted, over the cap":           {"snapshots_deleted_total OverCap", 1},
		"refused, but for what backs off": {"refused_writes_total delete", 1},
		"failed, once for each":           {"snapshots_failed_total", 1},
	} {
		t.Run(name, func(t *testing.T) {
			if got := seriesOf(t, client.ObjectKeyFromObject(s))[tc.series]; got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

// A watch that stays broken shows none of the snapshots that are created: the next
// create finds the name taken, which is no failure.
//
// Contract: STAT-5.
func TestReportOverdueUnlessCreated(t *testing.T) {
	created := mapcontroller.Outcome{Created: []client.Object{uncut(0).VolumeSnapshot}}
	createdUnseen := &keyStatus{Claim: "data", overdue: true, created: true}
	overdueStatus := withProblem("data", v1alpha1.ReasonSnapshotOverdue, "m")
	tests := map[string]struct {
		before  *keyStatus
		outcome mapcontroller.Outcome
		want    string
	}{
		"created, as in the pass before, which is not seen": {createdUnseen, created, v1alpha1.ReasonSnapshotOverdue},
		"created":                        {nil, created, ""},
		"created, and overdue before":    {overdueStatus, created, v1alpha1.ReasonSnapshotOverdue},
		"not created, because it exists": {nil, mapcontroller.Outcome{}, v1alpha1.ReasonSnapshotOverdue},
		"not created, because it failed": {overdueStatus, createFailures(forbidden("quota")), v1alpha1.ReasonCreateFailed},
		"not created, and a delete failed": {
			nil, mapcontroller.Outcome{Failed: []mapcontroller.Failure{failure(mapcontroller.VerbDelete, errors.New("timeout"))}},
			v1alpha1.ReasonSnapshotOverdue + " " + v1alpha1.ReasonDeleteFailed,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r := newTestReporter()
			if tc.before != nil {
				tc.before.reported = true
				r.previous[every("6h").UID] = map[string]any{"k": tc.before}
			}
			decide := mapCase{schedule: every("6h"), snapshots: series{ready(13 * time.Hour)}}
			decided := statusOf(decide.decider(t)(decide.observe()))
			status, _ := r.pass(every("6h"), "k", decided, tc.outcome)
			var reasons []string
			for _, p := range status.Problems {
				reasons = append(reasons, p.Reason)
			}
			if got := strings.Join(reasons, " "); got != tc.want {
				t.Errorf("problems are %q, want %q", got, tc.want)
			}
		})
	}
}
