// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/fixture"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/plan"
)

// harness is a Writer whose status is a number of replicas.
type harness struct {
	*Writer
	api     *fixture.API
	clock   *clocktesting.FakePassiveClock
	missing []string
	// referred is set if an output may have a reference that it should not have.
	referred bool
	// replicas is the computed status, last is what it was computed from.
	replicas int32
	last     *Summary
}

func newHarness(t *testing.T, stored ...client.Object) *harness {
	clock := clocktesting.NewFakePassiveClock(fixture.Now)
	h := &harness{clock: clock, api: fixture.NewAPI(clock, stored...)}
	a, _ := newAggregator()
	h.Writer = &Writer{
		FieldManager: "test", Client: h.api, Clock: clock, Interval: 5 * time.Second, Kinds: fixture.Kinds(t), Aggregator: a,
		Missing: func() []string { return h.missing },
		Set: func(_ time.Time, parent client.Object, s Summary) {
			h.last = &s
			parent.(*appsv1.Deployment).Status.Replicas = h.replicas
		},
	}
	return h
}

// write writes the status of the parent as the API server has it, as a cache
// does that is up to date.
func (h *harness) write(t *testing.T) (requeue time.Duration, err error) {
	t.Helper()
	current := &appsv1.Deployment{}
	if err := h.api.Stored.Get(t.Context(), parent, current); err != nil {
		t.Fatal(err)
	}
	result, err := h.Write(t.Context(), plan.Parent{Object: current, Program: &plan.Program{}}, !h.referred)
	return result.RequeueAfter, err
}

func TestWriterDebounces(t *testing.T) {
	h := newHarness(t, fixture.Parent())
	h.Aggregator.Track(parent, "p-uid", nil)
	for _, step := range []struct {
		after      time.Duration
		replicas   int32
		want       time.Duration
		wantWrites int
	}{
		{0, 0, 0, 0},                             // nothing to write
		{time.Second, 1, 0, 1},                   // the first write
		{2 * time.Second, 1, 4 * time.Second, 1}, // too early
		{4 * time.Second, 2, 2 * time.Second, 1}, // still too early
		{6 * time.Second, 2, 0, 2},               // in time
		{time.Hour, 2, 0, 2},                     // no change
		{time.Hour, 3, 0, 3},                     // a change after a long time
		{-time.Hour, 4, 0, 4},                    // the clock was set back
		{-time.Hour, 5, 5 * time.Second, 4},
	} {
		h.clock.SetTime(fixture.Now.Add(step.after))
		h.replicas = step.replicas
		if got, err := h.write(t); err != nil || got != step.want || h.api.Count("patch/status") != step.wantWrites {
			t.Errorf("%+v: wait %s, %d writes, error %v", step, got, h.api.Count("patch/status"), err)
		}
	}
	h.Forget(parent)
	if got, err := h.write(t); err != nil || got != 0 || h.api.Count("patch/status") != 5 {
		t.Errorf("forgotten: wait %s, %d writes, error %v", got, h.api.Count("patch/status"), err)
	}
}

// A time that decisions depend on is the API server's, read before the write. It is read
// only where one is about to be recorded.
//
// Contract: EDIT-2, STAT-8.
func TestWriterReadsTheServersClockForARecord(t *testing.T) {
	serverTime, unavailable := fixture.Now.Add(time.Hour), errors.New("unavailable")
	for name, test := range map[string]struct {
		records            bool
		fail               error
		wantReads          int
		wantTime           time.Time
		wantErr            error
		wantWrites         int
		withoutRecordsTime bool
		unknown            bool
		wantRequeue        time.Duration
	}{
		"a record":                      {records: true, wantReads: 1, wantTime: serverTime, wantWrites: 1},
		"no record":                     {wantWrites: 1},
		"a record that can't be":        {records: true, fail: unavailable, wantReads: 1, wantErr: unavailable},
		"a clock that can't be trusted": {records: true, unknown: true, wantReads: 1, wantWrites: 1, wantRequeue: time.Minute},
		"a status that records none":    {withoutRecordsTime: true, wantWrites: 1},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, fixture.Parent())
			h.Aggregator.Track(parent, "p-uid", nil)
			h.replicas = 1
			reads := 0
			if !test.withoutRecordsTime {
				h.RecordsTime = func(now time.Time, _ client.Object) bool { return test.records && now.Equal(fixture.Now) }
			}
			h.ServerTime = func(context.Context, client.Object) (time.Time, error) {
				reads++
				if test.unknown {
					return time.Time{}, nil
				}
				return serverTime, test.fail
			}
			requeue, err := h.write(t)
			if !errors.Is(err, test.wantErr) || reads != test.wantReads || h.api.Count("patch/status") != test.wantWrites {
				t.Errorf("%d reads, %d writes, error %v", reads, h.api.Count("patch/status"), err)
			}
			if requeue != test.wantRequeue {
				t.Errorf("requeued after %s, want %s", requeue, test.wantRequeue)
			}
			if h.last != nil && !h.last.ServerTime.Equal(test.wantTime) {
				t.Errorf("computed with %s, want %s", h.last.ServerTime, test.wantTime)
			}
		})
	}
}

func TestWriterOnErrors(t *testing.T) {
	deployments := schema.GroupResource{Resource: "deployments"}
	unavailable := errors.New("unavailable")
	for name, test := range map[string]struct {
		fail    error
		stale   bool
		want    time.Duration
		wantErr error
	}{
		"conflict":         {fail: apierrors.NewConflict(deployments, "p", nil), want: 5 * time.Second},
		"a stale cache":    {stale: true, want: 5 * time.Second},
		"gone":             {fail: apierrors.NewNotFound(deployments, "p")},
		"any other error":  {fail: unavailable, wantErr: unavailable},
		"no error, at all": {},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, fixture.Parent())
			h.Aggregator.Track(parent, "p-uid", nil)
			h.replicas = 1
			h.api.Fail(test.fail, "patch/status")
			cached := fixture.Parent(func(p *appsv1.Deployment) {
				if test.stale {
					p.ResourceVersion = "1"
				}
			})
			result, err := h.Write(t.Context(), plan.Parent{Object: cached, Program: &plan.Program{}}, true)
			if !errors.Is(err, test.wantErr) || result.RequeueAfter != test.want || cached.Status.Replicas != 0 {
				t.Errorf("wait %s, error %v; the cached parent has %d", result.RequeueAfter, err, cached.Status.Replicas)
			}
			if test.fail != nil && test.wantErr == nil {
				h.api.Fail(nil)
				h.clock.SetTime(fixture.Now.Add(5 * time.Second))
				if _, err := h.write(t); err != nil || h.api.Count("patch/status") != 2 {
					t.Errorf("%d writes, error %v", h.api.Count("patch/status"), err)
				}
			}
		})
	}
}

// A status waits for the keys of its parent to be reconciled, but not forever.
func TestWriterWaitsForKeysToSettle(t *testing.T) {
	type step struct{ after, want time.Duration }
	for name, steps := range map[string][]step{
		"not forever":           {{0, settleWithin}, {4 * time.Second, 6 * time.Second}, {settleWithin, 0}, {time.Minute, 0}},
		"the clock is set back": {{0, settleWithin}, {-24 * time.Hour, settleWithin}},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, fixture.Parent())
			h.Aggregator.Track(parent, "p-uid", []string{"a"})
			for _, s := range steps {
				h.clock.SetTime(fixture.Now.Add(s.after))
				got, err := h.write(t)
				if err != nil || got != s.want || (h.last != nil) != (s.want == 0) || (h.last != nil && h.last.Settled) {
					t.Errorf("after %s: wait %s, want %s, status from %+v, error %v", s.after, got, s.want, h.last, err)
				}
				h.last = nil
			}
			h.Aggregator.Put(request("a"), "p-uid", plan.KeyStatus{Generation: 1, Status: "a"})
			if got, err := h.write(t); err != nil || got != 0 || h.last == nil || !h.last.Settled {
				t.Errorf("reconciled: wait %s, status from %+v, error %v", got, h.last, err)
			}
			// The next generation waits anew.
			next := fixture.Parent(func(p *appsv1.Deployment) { p.Generation = 2 })
			result, err := h.Write(t.Context(), plan.Parent{Object: next, Program: &plan.Program{}}, true)
			if err != nil || result.RequeueAfter != settleWithin {
				t.Errorf("the next generation: wait %s, error %v", result.RequeueAfter, err)
			}
		})
	}
}

// A parent is not settled while outputs have references that they should not have, also
// where a kind is missing: discovery may be wrong.
func TestWriterWaitsForReferences(t *testing.T) {
	for name, missing := range map[string][]string{"all kinds are installed": nil, "a kind is missing": {"Pod"}} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, fixture.Parent())
			h.Aggregator.Track(parent, "p-uid", nil)
			h.missing, h.referred = missing, true
			if got, err := h.write(t); err != nil || got != settleWithin || h.last != nil {
				t.Errorf("wait %s, status from %+v, error %v", got, h.last, err)
			}
			h.clock.SetTime(fixture.Now.Add(settleWithin))
			if _, err := h.write(t); err != nil || h.last == nil || h.last.Settled {
				t.Errorf("status from %+v, error %v", h.last, err)
			}
			h.referred = false
			if _, err := h.write(t); err != nil || !h.last.Settled {
				t.Errorf("status from %+v, error %v", h.last, err)
			}
		})
	}
}

func TestSummary(t *testing.T) {
	invalid := errors.New("invalid")
	for name, test := range map[string]struct {
		change      func(*harness)
		invalid     error
		wantNone    bool
		wantTotals  bool
		wantMissing []string
		wantKeys    []any
	}{
		"keys that are not tracked yet": {change: func(h *harness) { h.Aggregator.Forget(parent, "p-uid") }, wantNone: true},
		"no keys":                       {wantTotals: true},
		"keys": {wantTotals: true, wantKeys: []any{"a"}, change: func(h *harness) {
			h.Aggregator.Put(request("a"), "p-uid", plan.KeyStatus{Generation: 1, Status: "a"})
			h.Aggregator.Put(request("none"), "p-uid", plan.KeyStatus{Generation: 1})
		}},
		"a kind that is missing": {change: func(h *harness) { h.missing = []string{"Pod"} }, wantMissing: []string{"Pod"}},
		"an invalid spec":        {invalid: invalid, wantTotals: true},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, fixture.Parent())
			h.Aggregator.Track(parent, "p-uid", nil)
			if test.change != nil {
				test.change(h)
			}
			_, err := h.Write(t.Context(), plan.Parent{Object: fixture.Parent(), Program: &plan.Program{}, Invalid: test.invalid}, true)
			if err != nil || (h.last == nil) != test.wantNone {
				t.Fatalf("status from %+v, error %v", h.last, err)
			}
			if test.wantNone {
				return
			}
			if s := h.last; !s.Settled || !errors.Is(s.Invalid, test.invalid) || (s.Totals != nil) != test.wantTotals ||
				!slices.Equal(s.Missing, test.wantMissing) || !slices.Equal(s.Keys, test.wantKeys) {
				t.Errorf("got %+v", s)
			}
		})
	}
}
