// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/fixture"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/guard"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/plan"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/queue"
)

func TestDeletesCarryPreconditions(t *testing.T) {
	for name, change := range map[string]func(*corev1.Pod){
		"it changed":       changed,
		"it was recreated": func(o *corev1.Pod) { o.UID = "new-uid" },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, []client.Object{fixture.Parent(), fixture.Output("a"), fixture.Output("b")},
				[]client.Object{fixture.Parent(), fixture.Output("a", change), fixture.Output("b")})
			outcome, delay, err := h.pass(t)
			if err != nil || len(outcome.Failed) > 0 || delay != firstRetry || !slices.Equal(deleted(outcome), []string{"b"}) {
				t.Errorf("outcome %+v, error %v, delay %s", outcome, err, delay)
			}
			if got := h.api.Pods(t); !slices.Equal(got, []string{"a"}) {
				t.Errorf("left %v", got)
			}
		})
	}
}

// A delete is not sent once the reads that it depends on are too old.
//
// Contract: GUARD-6.
func TestDeletesEndWhenTheConfirmationExpires(t *testing.T) {
	all := []client.Object{fixture.Parent(), fixture.Output("a"), fixture.Output("b")}
	h := newHarness(t, all, all)
	h.api.After = func(verb string, _ runtime.Object) {
		if verb == "delete" {
			h.after(5 * time.Second)
		}
	}
	outcome, delay, err := h.pass(t)
	if got := h.api.Pods(t); err != nil || delay != firstRetry || len(outcome.Deleted) != 1 || len(got) != 1 {
		t.Errorf("left %v, error %v, delay %s", got, err, delay)
	}
}

// The client itself retries where the server asks for it, but not beyond the
// confirmation.
func TestDeletesHaveADeadline(t *testing.T) {
	all := []client.Object{fixture.Parent(), fixture.Output("a")}
	h := newHarness(t, all, all)
	var left time.Duration
	h.api.Before = func(ctx context.Context, verb string, _ runtime.Object) error {
		if deadline, ok := ctx.Deadline(); ok && verb == "delete" {
			left = time.Until(deadline)
		}
		return nil
	}
	if _, _, err := h.pass(t); err != nil || left <= 0 || left > 5*time.Second {
		t.Errorf("a delete may take %s, error %v", left, err)
	}
}

func TestUnconfirmedDeletesAreNotMade(t *testing.T) {
	for name, test := range map[string]struct {
		change     func(*fixture.API)
		wantPaused error
	}{
		"the clock is skewed": {change: func(a *fixture.API) { a.Skew = time.Hour }, wantPaused: guard.ErrClockSkew},
		"the parent is gone":  {change: func(a *fixture.API) { _ = a.Stored.Delete(context.Background(), fixture.Parent()) }},
	} {
		t.Run(name, func(t *testing.T) {
			all := []client.Object{fixture.Parent(), fixture.Output("a")}
			h := newHarness(t, all, all)
			test.change(h.api)
			outcome, delay, err := h.pass(t)
			if err != nil || delay != firstRetry || !errors.Is(outcome.Paused, test.wantPaused) || h.api.Count("delete") > 0 {
				t.Errorf("outcome %+v, error %v, delay %s, %d deletes", outcome, err, delay, h.api.Count("delete"))
			}
		})
	}
}

// A delete that is denied for good must not hold up the others, and leaves
// nothing behind when it is no longer wanted.
func TestDeniedDeleteBacksOffAlone(t *testing.T) {
	all := []client.Object{fixture.Parent(), fixture.Output("a"), fixture.Output("b")}
	h := newHarness(t, all, all)
	h.api.Before = func(_ context.Context, verb string, o runtime.Object) error {
		if verb == "delete" && o.(client.Object).GetName() == "a" {
			return forbidden
		}
		return nil
	}
	outcome, delay, err := h.pass(t)
	if err == nil || delay != firstRetry || !slices.Equal(failures(outcome), []string{"delete a"}) || !slices.Equal(deleted(outcome), []string{"b"}) {
		t.Errorf("failed %v, deleted %v, error %v, delay %s", failures(outcome), deleted(outcome), err, delay)
	}
	// An event before the retry is due tries the other one alone, which is gone by
	// now and backs off too, because the cache does not show it. The denied one is
	// still reported.
	h.after(firstRetry / 2)
	outcome, delay, err = h.pass(t)
	if err != nil || !slices.Equal(failures(outcome), []string{"delete a"}) || !outcome.Failed[0].BackingOff || h.api.Count("delete") != 3 || delay != firstRetry/2 {
		t.Errorf("failed %v, error %v, %d deletes, delay %s", failures(outcome), err, h.api.Count("delete"), delay)
	}
	h.after(firstRetry)
	if _, delay, err := h.pass(t); err == nil || delay != firstRetry/2 {
		t.Errorf("when it is due: error %v, delay %s", err, delay)
	}
	h.keepAll()
	h.Attempts.Seen(fixture.Request, queue.Expectation{ID: h.Kinds.ID(fixture.Output("b")), Deleted: true}) // the cache shows b's deletion
	if _, delay, err := h.pass(t); err != nil || delay != longestDelay || h.Attempts.Known(fixture.Request) {
		t.Errorf("error %v, delay %s, or the key has state", err, delay)
	}
}

// A cache that lags must not cost a delete and a turn of the pace with every event.
func TestConflictingDeleteBacksOff(t *testing.T) {
	h := newHarness(t, []client.Object{fixture.Parent(), fixture.Output("a")}, []client.Object{fixture.Parent(), fixture.Output("a", changed)})
	for range 3 {
		outcome, delay, err := h.pass(t)
		if err != nil || len(outcome.Failed)+len(outcome.Deleted) > 0 || delay != firstRetry {
			t.Errorf("outcome %+v, error %v, delay %s", outcome, err, delay)
		}
	}
	if n := h.api.Count("delete"); n != 1 {
		t.Errorf("%d deletes, want 1", n)
	}
}

// A release that follows a denied delete must not be taken for the delete.
func TestOnlyDeletesThatWereMadeAreExpected(t *testing.T) {
	for name, test := range map[string]struct {
		fail error
		want bool
	}{
		"made":   {want: true},
		"denied": {fail: forbidden},
	} {
		t.Run(name, func(t *testing.T) {
			all := []client.Object{fixture.Parent(), fixture.Output("a")}
			h := newHarness(t, all, all)
			h.api.Fail(test.fail, "delete")
			_, _, _ = h.pass(t)
			id := h.Kinds.ID(fixture.Output("a"))
			if got := h.Attempts.Seen(fixture.Request, queue.Expectation{ID: id, Deleted: true}); got != test.want {
				t.Errorf("the delete is our own: %v, want %v", got, test.want)
			}
			if h.Attempts.Seen(fixture.Request, queue.Expectation{ID: id, Deleted: true}) {
				t.Error("a second one is our own, too")
			}
		})
	}
}

// Deletes that wait for their turn must not hasten the retry of those that fail.
func TestPacedDeletesRespectBackoff(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*fixture.API)
		want   time.Duration
	}{
		"made":                {change: func(*fixture.API) {}, want: time.Second / 2},
		"the clock is skewed": {change: func(a *fixture.API) { a.Skew = time.Hour }, want: time.Second / 2},
		"denied":              {change: func(a *fixture.API) { a.Fail(forbidden, "delete") }, want: time.Second / 2},
	} {
		t.Run(name, func(t *testing.T) {
			all := []client.Object{fixture.Parent(), fixture.Output("a"), fixture.Output("b"), fixture.Output("c")}
			h := newHarness(t, all, all)
			h.paced(2)
			test.change(h.api)
			if _, delay, _ := h.pass(t); delay != test.want || h.api.Count("delete") > 2 {
				t.Errorf("delay %s, want %s; %d deletes", delay, test.want, h.api.Count("delete"))
			}
		})
	}
}

// A turn of deletes that all back off meanwhile must not be due again and again.
func TestTurnIsDroppedWhenNoDeleteIsDue(t *testing.T) {
	all := []client.Object{fixture.Parent(), fixture.Output("a"), fixture.Output("b")}
	h := newHarness(t, all, all)
	h.paced(1)
	h.api.Fail(forbidden, "delete")
	keep := "b"
	h.env.Program.Tombstone = func(seen plan.Observation) plan.Decision {
		return plan.Decision{Delete: fixture.DeleteAllBut(seen.Outputs, keep)}
	}
	_, _, _ = h.pass(t)
	h.after(firstRetry)
	if _, delay, _ := h.pass(t); delay != 2*firstRetry {
		t.Fatalf("a is denied twice: delay %s", delay)
	}
	// b has to wait for its turn, and is no longer wanted when it comes.
	h.after(3 * firstRetry / 2)
	keep = ""
	if _, delay, _ := h.pass(t); delay != firstRetry/2 {
		t.Fatalf("b has a turn: delay %s", delay)
	}
	h.after(2 * firstRetry)
	keep = "b"
	if outcome, delay, err := h.pass(t); err != nil || !outcome.Waiting || delay != firstRetry {
		t.Errorf("outcome %+v, error %v, delay %s", outcome, err, delay)
	}
}

// Deletes that are not confirmed are tried ever more rarely, whatever turn the
// key is given and whatever events come.
func TestUnconfirmedDeletesAreRetriedEverMoreRarely(t *testing.T) {
	all := []client.Object{fixture.Parent(), fixture.Output("a")}
	h := newHarness(t, all, all)
	h.paced(0.1)
	h.api.Skew = time.Hour
	tries, waited := 0, 0
	pass := func() time.Duration {
		outcome, delay, err := h.pass(t)
		if err != nil {
			t.Fatal(err)
		}
		if outcome.Paused != nil {
			tries++
		}
		if outcome.Waiting {
			waited++
		}
		return delay
	}
	for end := fixture.Now.Add(time.Hour); h.env.Clock.Now().Before(end); {
		pass() // an event
		h.env.Clock.SetTime(h.env.Clock.Now().Add(min(pass(), time.Minute)))
	}
	// After 1, 2, 4, …, 256 seconds, and then every 5 minutes.
	if tries < 10 || tries > 25 {
		t.Errorf("tried %d times in an hour", tries)
	}
	if waited == 0 {
		t.Error("passes that wait do not report it")
	}
}

// A create that fails again and again holds up no delete.
func TestFailedCreatesHoldUpNoDelete(t *testing.T) {
	all := []client.Object{fixture.Parent(), fixture.Input(), fixture.Output("old")}
	h := newHarness(t, all, all)
	h.paced(50)
	h.api.Fail(forbidden, "create")
	h.env.Program.Map = func(plan.Observation) plan.Decision {
		return plan.Decision{Ensure: []plan.Desired{{Object: &corev1.Pod{ObjectMeta: fixture.Output("in").ObjectMeta}}}}
	}
	for i := range 10 {
		h.after(time.Duration(i) * lastRetry)
		_, _, _ = h.pass(t)
	}
	h.env.Program = fixture.Program()
	if outcome, _, _ := h.pass(t); !slices.Equal(deleted(outcome), []string{"old"}) {
		t.Errorf("deleted %v", deleted(outcome))
	}
}

// What waits for a delete must not wait behind the deletes of others. Urgent deletes
// are confirmed as all are.
func TestUrgentDeletesAreNotPaced(t *testing.T) {
	all := []client.Object{fixture.Parent(), fixture.Output("a"), fixture.Output("b"), fixture.Output("c")}
	h := newHarness(t, all, all)
	h.paced(1)
	h.Pace.Take(fixture.Request, 1) // the burst
	h.env.Program.Tombstone = func(seen plan.Observation) plan.Decision {
		d := plan.Decision{Delete: fixture.DeleteAllBut(seen.Outputs)}
		for i := range d.Delete {
			d.Delete[i].Urgent = d.Delete[i].Object.GetName() == "c"
		}
		return d
	}
	outcome, delay, err := h.pass(t)
	if err != nil || !slices.Equal(deleted(outcome), []string{"c"}) || delay != time.Second {
		t.Errorf("deleted %v, error %v, delay %s", deleted(outcome), err, delay)
	}
	if h.api.Count("get") == 0 {
		t.Error("nothing was confirmed")
	}
}

// Reads that take too long for any delete are reported: it would never be made.
func TestDeletesReportAConfirmationThatIsTooOld(t *testing.T) {
	all := []client.Object{fixture.Parent(), fixture.Output("a"), fixture.Output("b")}
	h := newHarness(t, all, all)
	h.env.Program.Tombstone = func(seen plan.Observation) plan.Decision {
		return plan.Decision{Delete: fixture.DeleteAllBut(seen.Outputs, "a"), Evidence: seen.Outputs[:1]}
	}
	h.api.After = func(verb string, o runtime.Object) {
		if _, evidence := o.(*corev1.Pod); evidence && verb == "get" {
			h.after(5 * time.Second)
		}
	}
	outcome, _, err := h.pass(t)
	if err == nil || !slices.Equal(failures(outcome), []string{"delete b"}) || h.api.Count("delete") > 0 {
		t.Errorf("failed %v, error %v, %d deletes", failures(outcome), err, h.api.Count("delete"))
	}
}

// What backs off takes no place, and deletes that are not bounded need none.
//
// Contract: RET-16.
func TestBoundedDeletesNeedAPlace(t *testing.T) {
	var all []client.Object
	for _, name := range []string{"a", "b", "c", "d", "free"} {
		all = append(all, fixture.Output(name))
	}
	h := newHarness(t, append([]client.Object{fixture.Parent()}, all...), append([]client.Object{fixture.Parent()}, all...))
	h.env.Program.Tombstone = func(seen plan.Observation) plan.Decision {
		d := plan.Decision{Places: 1}
		for _, o := range seen.Outputs {
			d.Delete = append(d.Delete, plan.Removal{Object: o, Reason: "x", Bounded: o.GetName() != "free"})
		}
		return d
	}
	h.api.Before = func(_ context.Context, verb string, o runtime.Object) error {
		if pod, ok := o.(*corev1.Pod); ok && verb == "delete" && pod.Name == "a" {
			return forbidden
		}
		return nil
	}
	if outcome, _, _ := h.pass(t); !slices.Equal(deleted(outcome), []string{"free"}) || len(outcome.Failed) != 1 {
		t.Errorf("outcome %+v", outcome)
	}
	if got := h.api.Pods(t); !slices.Equal(got, []string{"a", "b", "c", "d"}) {
		t.Errorf("left %v", got)
	}
	if outcome, _, _ := h.pass(t); !slices.Contains(deleted(outcome), "b") || slices.Contains(deleted(outcome), "c") {
		t.Errorf("outcome %+v", outcome)
	}
}

// While a watch is broken, what this process has deleted, or may have, looks as if nobody had.
//
// Contract: RET-16.
func TestDeletesThatAreNotSeenTakeTheirPlaces(t *testing.T) {
	for name, tc := range map[string]struct {
		answer error // to the first delete
		left   []string
	}{
		"answered":           {nil, []string{"b", "c"}},
		"the answer is lost": {errors.New("connection reset by peer"), []string{"a", "b", "c"}},
		"a server's timeout": {apierrors.NewInternalError(errors.New("too slow")), []string{"a", "b", "c"}},
		"refused":            {forbidden, []string{"a", "c"}},
		"deleted by another": {apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, "a"), []string{"a", "c"}},
	} {
		t.Run(name, func(t *testing.T) {
			var all []client.Object
			for _, name := range []string{"a", "b", "c"} {
				all = append(all, fixture.Output(name))
			}
			h := newHarness(t, append([]client.Object{fixture.Parent()}, all...), append([]client.Object{fixture.Parent()}, all...))
			h.env.Program.Tombstone = func(seen plan.Observation) plan.Decision {
				d := plan.Decision{Places: 1}
				for _, o := range seen.Outputs {
					d.Delete = append(d.Delete, plan.Removal{Object: o, Reason: "x", Bounded: true})
				}
				return d
			}
			answer := tc.answer
			h.api.Before = func(_ context.Context, verb string, o runtime.Object) error {
				if pod, ok := o.(*corev1.Pod); !ok || verb != "delete" || pod.Name != "a" {
					return nil
				}
				err := answer
				if !apierrors.IsForbidden(answer) && !apierrors.IsNotFound(answer) { // it is being deleted, which its resourceVersion shows, and the cache does not
					answer = apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, "a", errors.New("the object has been modified"))
				}
				return err
			}
			for _, after := range []time.Duration{0, time.Millisecond, time.Hour} {
				h.after(after)
				_, _, _ = h.pass(t)
			}
			if got := h.api.Pods(t); !slices.Equal(got, tc.left) {
				t.Errorf("%v are left, want %v", got, tc.left)
			}
		})
	}
}
