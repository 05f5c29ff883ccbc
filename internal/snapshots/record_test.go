// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
)

func fakeReporter() (*reporter, *events.FakeRecorder) {
	recorder := events.NewFakeRecorder(100)
	return newReporter(recorder, clocktesting.NewFakePassiveClock(noon)), recorder
}

// told drains the events so far.
func told(recorder *events.FakeRecorder) (all []string) {
	for {
		select {
		case e := <-recorder.Events:
			all = append(all, e)
		default:
			return all
		}
	}
}

func failure(verb string, err error) mapcontroller.Failure {
	return mapcontroller.Failure{Verb: verb, Object: ready(0).named("data-20260615120000-abc").VolumeSnapshot, Err: err}
}

func failures(all ...mapcontroller.Failure) mapcontroller.Outcome {
	return mapcontroller.Outcome{Failed: all}
}

func forbidden(why string) error {
	kind := schema.GroupResource{Group: "snapshot.storage.k8s.io", Resource: "volumesnapshots"}
	return apierrors.NewForbidden(kind, "data-20260615120000-abc", errors.New(why))
}

// Contract: EVT-2.
func TestRecordProblems(t *testing.T) {
	tests := map[string]struct {
		failure     mapcontroller.Failure
		wantReason  string
		wantMessage string // a part of it
	}{
		"create refused": {
			failure("create", forbidden("exceeded quota")), v1alpha1.ReasonCreateFailed, "exceeded quota",
		},
		"create timed out": {
			failure("create", errors.New("context deadline exceeded")), v1alpha1.ReasonCreateFailed, "context deadline exceeded",
		},
		"name taken": {
			failure("create", fmt.Errorf("%w: x", mapcontroller.ErrNameCollision)), v1alpha1.ReasonNameCollision,
			"VolumeSnapshot data-20260615120000-abc exists and is not this schedule's",
		},
		"adoption refused": {
			failure("adopt", fmt.Errorf("%w: the owner is gone", mapcontroller.ErrAdoptionRefused)), v1alpha1.ReasonAdoptionRefused,
			"VolumeSnapshot data-20260615120000-abc is left alone",
		},
		"adoption that met a conflict is only tried again": {failure("adopt", errors.New("conflict")), "", ""},
		"delete that failed is only tried again":           {failure("delete", errors.New("timeout")), "", ""},
		"release that failed is only tried again":          {failure("release", errors.New("timeout")), "", ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r, recorder := fakeReporter()
			note := r.record(every("6h").SnapshotSchedule, "k", Note{}, failures(tc.failure))
			got := told(recorder)
			if tc.wantReason == "" {
				if len(note.Problems)+len(got) != 0 {
					t.Errorf("problems %v, events %v, want none", note.Problems, got)
				}
				return
			}
			if len(note.Problems) != 1 || note.Problems[0].Reason != tc.wantReason || note.Problems[0].Claim != "data" ||
				!strings.Contains(note.Problems[0].Message, tc.wantMessage) {
				t.Errorf("problems are %+v, want %s: %s", note.Problems, tc.wantReason, tc.wantMessage)
			}
			if len(got) != 1 || !strings.HasPrefix(got[0], "Warning "+tc.wantReason) ||
				!strings.Contains(got[0], "PersistentVolumeClaim data: ") || !strings.Contains(got[0], tc.wantMessage) {
				t.Errorf("events are %v", got)
			}
		})
	}
}

// Status settles: what differs from try to try is not in the message.
//
// Contract: STAT-7.
func TestCreateFailedMessageSettles(t *testing.T) {
	const reset = "read tcp 10.0.0.1:51234->10.0.0.2:443: read: connection reset by peer"
	const still = "read tcp 10.0.0.2:443: read: connection reset by peer"
	for name, tc := range map[string]struct {
		err  error
		want string
	}{
		"the name, which holds the slot": {
			forbidden("exceeded quota: q"), "volumesnapshots.snapshot.storage.k8s.io is forbidden: exceeded quota: q",
		},
		"our port": {
			&url.Error{Op: "Post", URL: "https://10.0.0.2:443/apis", Err: errors.New(reset)}, `Post "https://10.0.0.2:443/apis": ` + still,
		},
		"a webhook's caller's port": {
			apierrors.NewInternalError(errors.New("failed calling webhook: " + reset)), "Internal error occurred: failed calling webhook: " + still,
		},
		"IPv6": {
			errors.New("read tcp [fd00::1]:51234->[fd00::2]:443: EOF"), "read tcp [fd00::2]:443: EOF",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if p := problemOf(failure("create", tc.err)); p.Message != tc.want {
				t.Errorf("message is %q, want %q", p.Message, tc.want)
			}
		})
	}
}

// Contract: EVT-1.
func TestRecordTellsOncePerNewProblem(t *testing.T) {
	r, recorder := fakeReporter()
	s := every("6h").SnapshotSchedule
	pass := func(mapKey string, errs ...error) []string {
		var all []mapcontroller.Failure
		for _, err := range errs {
			all = append(all, failure("create", err))
		}
		r.record(s, mapKey, Note{}, failures(all...))
		return told(recorder)
	}
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
		{"k", nil, 0},                    // mended
		{"k", []error{denied}, 1},        // again
		{"k", []error{denied, quota}, 1}, // one more
	} {
		if got := pass(step.mapKey, step.errs...); len(got) != step.want {
			t.Errorf("step %d: events %v, want %d", i, got, step.want)
		}
	}
}

func TestRecordTellsOfTheNotesOwnProblems(t *testing.T) {
	r, recorder := fakeReporter()
	var note Note
	note.add(Problem{Claim: "data", Reason: v1alpha1.ReasonSnapshotFailed, Message: "m"})
	got := r.record(every("6h").SnapshotSchedule, "k", note, mapcontroller.Outcome{})
	if all := told(recorder); len(all) != 1 || all[0] != "Warning SnapshotFailed PersistentVolumeClaim data: m" {
		t.Errorf("events are %v", all)
	}
	if !slices.Equal(got.Problems, note.Problems) || got.Failing != 1 {
		t.Errorf("note is %+v", got)
	}
}

// Contract: EVT-2.
func TestRecordPaused(t *testing.T) {
	r, recorder := fakeReporter()
	s := every("6h").SnapshotSchedule
	paused := mapcontroller.Outcome{Paused: mapcontroller.ErrClockSkew}
	if note := r.record(s, "k", Note{}, paused); !note.Paused || len(note.Problems) != 0 {
		t.Errorf("note is %+v, want it paused and without problems", note)
	}
	if all := told(recorder); len(all) != 1 || !strings.HasPrefix(all[0], "Warning RetentionPaused") {
		t.Errorf("events are %v", all)
	}
	if note := r.record(s, "k", Note{}, paused); !note.Paused || len(told(recorder)) != 0 {
		t.Errorf("told twice")
	}
	if note := r.record(s, "k", Note{Paused: true}, mapcontroller.Outcome{}); note.Paused || len(told(recorder)) != 0 {
		t.Errorf("note is %+v when the clocks agree again", note)
	}
}

// A malformed annotation of the schedule is told once, not for every PVC.
//
// Contract: API-7.
func TestRecordScheduleProblem(t *testing.T) {
	r, recorder := fakeReporter()
	s := every("6h").requested("tomorrow").SnapshotSchedule
	for _, mapKey := range []string{"k", "l", "m"} {
		if note := r.record(s, mapKey, Note{}, mapcontroller.Outcome{}); len(note.Problems) != 0 {
			t.Errorf("note of a PVC is %+v", note)
		}
	}
	if all := told(recorder); len(all) != 1 || !strings.HasPrefix(all[0], "Warning InvalidRequestedAt annotation ") ||
		!strings.Contains(all[0], `"tomorrow"`) {
		t.Errorf("events are %v", all)
	}
}

// A schedule that is deleted and created again under its name is another one.
//
// Contract: EVT-1.
func TestRecordTellsAScheduleMadeAnew(t *testing.T) {
	r, recorder := fakeReporter()
	for _, uid := range []string{"one", "two"} {
		s := every("6h").requested("tomorrow")
		s.UID = types.UID(uid)
		r.record(s.SnapshotSchedule, "k", Note{}, failures(failure("create", forbidden("quota"))))
		if all := told(recorder); len(all) != 2 {
			t.Errorf("schedule %s: events %v, want 2", uid, all)
		}
	}
}

// That a slot passed and nothing came is no event: it goes on for as long as it
// lasts, and status says so.
func TestRecordLeavesToStatusWhatDidNotHappen(t *testing.T) {
	for _, reason := range []string{v1alpha1.ReasonSnapshotOverdue, v1alpha1.ReasonSnapshotSlow} {
		t.Run(reason, func(t *testing.T) {
			r, recorder := fakeReporter()
			problem := Problem{Claim: "data", Reason: reason, Message: "so it is"}
			note := r.record(every("1h").SnapshotSchedule, "key", Note{Problems: []Problem{problem}}, mapcontroller.Outcome{})
			if got := told(recorder); len(got) > 0 {
				t.Errorf("events %q, want none", got)
			}
			if len(note.Problems) != 1 {
				t.Errorf("problems %v, want the one", note.Problems)
			}
		})
	}
}

// Contract: EVT-4.
func TestRecordCounts(t *testing.T) {
	r, _ := fakeReporter()
	s := every("1h").SnapshotSchedule
	s.Name = "counted"
	outcome := mapcontroller.Outcome{
		Created: []client.Object{ready(0).VolumeSnapshot},
		Deleted: []mapcontroller.Deletion{{Why: "Expired"}, {Why: "Expired"}, {Why: "OverCap"}},
	}
	failed := Note{Problems: []Problem{{Claim: "data", Reason: v1alpha1.ReasonSnapshotFailed, Message: "so it is"}}}
	r.record(s, "key", failed, outcome)
	r.record(s, "key", failed, mapcontroller.Outcome{})
	for name, tc := range map[string]struct {
		counter prometheus.Collector
		want    float64
	}{
		"created":               {createdTotal.WithLabelValues(s.Namespace, s.Name), 1},
		"deleted of age":        {deletedTotal.WithLabelValues(s.Namespace, s.Name, "Expired"), 2},
		"deleted for the cap":   {deletedTotal.WithLabelValues(s.Namespace, s.Name, "OverCap"), 1},
		"failed, once for each": {failedTotal.WithLabelValues(s.Namespace, s.Name), 1},
	} {
		t.Run(name, func(t *testing.T) {
			if got := testutil.ToFloat64(tc.counter); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

// A pass that only waits for its turn knows nothing new of the clock.
func TestRecordStaysPausedWhileWaiting(t *testing.T) {
	r, recorder := fakeReporter()
	s := every("1h").SnapshotSchedule
	steps := []struct {
		outcome mapcontroller.Outcome
		want    bool
	}{
		{mapcontroller.Outcome{Waiting: true}, false},
		{mapcontroller.Outcome{Paused: mapcontroller.ErrClockSkew}, true},
		{mapcontroller.Outcome{Waiting: true}, true},
		{mapcontroller.Outcome{Paused: mapcontroller.ErrClockSkew}, true},
		{mapcontroller.Outcome{}, false},
	}
	for i, step := range steps {
		if got := r.record(s, "key", Note{}, step.outcome).Paused; got != step.want {
			t.Errorf("step %d: paused %v, want %v", i, got, step.want)
		}
	}
	if got := told(recorder); len(got) != 1 {
		t.Errorf("events %q, want one", got)
	}
}
