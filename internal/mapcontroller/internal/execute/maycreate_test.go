// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"slices"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/fixture"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/plan"
)

// What may not be created yet is not, and is no failure. The rest of the plan does not
// wait.
func TestCreatesWaitUntilTheyMayBeMade(t *testing.T) {
	all := []client.Object{fixture.Parent(), fixture.Input(), fixture.Output("old")}
	h := newHarness(t, all, all)
	why, asked := "busy", 0
	h.MayCreate = func(req plan.Request, create []plan.Desired, _ []client.Object) string {
		if req == fixture.Request && len(create) == 1 && create[0].Object.GetName() == "in" {
			asked++
		}
		return why
	}
	outcome, delay, err := h.pass(t)
	if err != nil || delay != longestDelay || outcome.Queued != "busy" || len(outcome.Created) > 0 {
		t.Errorf("may not create: created %v, queued %q, delay %s, error %v", fixture.Names(outcome.Created), outcome.Queued, delay, err)
	}
	if !slices.Equal(deleted(outcome), []string{"old"}) || !slices.Equal(h.api.Pods(t), []string{}) {
		t.Errorf("deleted %v, left %v", deleted(outcome), h.api.Pods(t))
	}
	why = ""
	outcome, _, err = h.pass(t)
	if err != nil || outcome.Queued != "" || !slices.Equal(fixture.Names(outcome.Created), []string{"in"}) {
		t.Errorf("may create: created %v, queued %q, error %v", fixture.Names(outcome.Created), outcome.Queued, err)
	}
	if asked != 2 {
		t.Errorf("asked %d times about the create, want 2", asked)
	}
}

// A plan without creates is never queued, and a key whose parent is gone no longer
// waits.
func TestMayCreateIsCalledForKeysWithoutCreates(t *testing.T) {
	all := []client.Object{fixture.Parent(), fixture.Input(), fixture.Output("in")}
	h := newHarness(t, all, all)
	calls := 0
	h.MayCreate = func(req plan.Request, create []plan.Desired, _ []client.Object) string {
		if req == fixture.Request && len(create) == 0 {
			calls++
		}
		return "busy"
	}
	if outcome, _, err := h.pass(t); outcome.Queued != "" || err != nil || calls != 1 {
		t.Errorf("queued %q, error %v, %d calls", outcome.Queued, err, calls)
	}
	if h.Forget(fixture.Request); calls != 2 {
		t.Errorf("%d calls after the parent was deleted, want 2", calls)
	}
}

// A create that fails whenever it may be made is tried ever more rarely.
func TestWaitingKeepsTheBackoffOfACreate(t *testing.T) {
	all := []client.Object{fixture.Parent(), fixture.Input()}
	h := newHarness(t, all, all)
	h.api.Fail(forbidden, "create")
	why := ""
	h.MayCreate = func(plan.Request, []plan.Desired, []client.Object) string { return why }
	for i, want := range []time.Duration{firstRetry, 2 * firstRetry, 4 * firstRetry} {
		h.after(time.Duration(i) * time.Minute)
		why = "busy"
		if _, delay, err := h.pass(t); err != nil || delay != longestDelay {
			t.Errorf("attempt %d, may not create: delay %s, error %v", i, delay, err)
		}
		why = ""
		if _, delay, err := h.pass(t); err == nil || delay != want {
			t.Errorf("attempt %d: delay %s, error %v; want %s", i, delay, err, want)
		}
	}
}
