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

// What is not admitted is not created, and is no failure. The rest of the plan does not
// wait.
func TestCreatesWaitUntilTheyAreAdmitted(t *testing.T) {
	all := []client.Object{fixture.Parent(), fixture.Input(), fixture.Output("old")}
	h := newHarness(t, all, all)
	admits, asked := false, 0
	h.Admit = func(req plan.Request, p plan.Plan, _ []client.Object) bool {
		if req == fixture.Request && slices.Equal(fixture.Names(p.Create), []string{"in"}) {
			asked++
		}
		return admits
	}
	outcome, delay, err := h.pass(t)
	if err != nil || delay != longestDelay || !outcome.Queued || len(outcome.Created) > 0 {
		t.Errorf("not admitted: created %v, queued %v, delay %s, error %v", fixture.Names(outcome.Created), outcome.Queued, delay, err)
	}
	if !slices.Equal(deleted(outcome), []string{"old"}) || !slices.Equal(h.api.Pods(t), []string{}) {
		t.Errorf("deleted %v, left %v", deleted(outcome), h.api.Pods(t))
	}
	admits = true
	outcome, _, err = h.pass(t)
	if err != nil || outcome.Queued || !slices.Equal(fixture.Names(outcome.Created), []string{"in"}) {
		t.Errorf("admitted: created %v, queued %v, error %v", fixture.Names(outcome.Created), outcome.Queued, err)
	}
	if asked != 2 {
		t.Errorf("asked %d times about the create, want 2", asked)
	}
}

// A plan without creates is never queued, and a key whose parent is gone gives up its
// turn.
func TestAdmissionHearsOfKeysWithoutCreates(t *testing.T) {
	all := []client.Object{fixture.Parent(), fixture.Input(), fixture.Output("in")}
	h := newHarness(t, all, all)
	calls := 0
	h.Admit = func(req plan.Request, p plan.Plan, _ []client.Object) bool {
		if req == fixture.Request && len(p.Create) == 0 {
			calls++
		}
		return false
	}
	if outcome, _, err := h.pass(t); outcome.Queued || err != nil || calls != 1 {
		t.Errorf("queued %v, error %v, %d calls", outcome.Queued, err, calls)
	}
	if h.Forget(fixture.Request); calls != 2 {
		t.Errorf("%d calls after the parent was deleted, want 2", calls)
	}
}

// A create that fails whenever it is admitted is tried ever more rarely.
func TestWaitingKeepsTheBackoffOfACreate(t *testing.T) {
	all := []client.Object{fixture.Parent(), fixture.Input()}
	h := newHarness(t, all, all)
	h.api.Fail(forbidden, "create")
	admits := true
	h.Admit = func(plan.Request, plan.Plan, []client.Object) bool { return admits }
	for i, want := range []time.Duration{firstRetry, 2 * firstRetry, 4 * firstRetry} {
		h.after(time.Duration(i) * time.Minute)
		admits = false
		if _, delay, err := h.pass(t); err != nil || delay != longestDelay {
			t.Errorf("attempt %d, not admitted: delay %s, error %v", i, delay, err)
		}
		admits = true
		if _, delay, err := h.pass(t); err == nil || delay != want {
			t.Errorf("attempt %d: delay %s, error %v; want %s", i, delay, err, want)
		}
	}
}
