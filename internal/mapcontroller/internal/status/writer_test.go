// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/fixture"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/plan"
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
	replicas  int32
	condition string
	last      *Summary
}

func newHarness(t *testing.T, stored ...client.Object) *harness {
	clock := clocktesting.NewFakePassiveClock(fixture.Now)
	h := &harness{clock: clock, api: fixture.NewAPI(clock, stored...)}
	a, _ := newAggregator()
	h.Writer = &Writer{
		Client: h.api, Live: h.api, Clock: clock, Interval: 5 * time.Second, Timeout: time.Minute, Kinds: fixture.Kinds(t), Aggregator: a,
		Missing: func() []string { return h.missing },
		Set: func(_ time.Time, parent client.Object, s Summary) {
			h.last = &s
			d := parent.(*appsv1.Deployment)
			d.Status.Replicas = h.replicas
			if h.condition != "" {
				d.Status.Conditions = []appsv1.DeploymentCondition{{Type: "Ready", Reason: h.condition}}
			}
			if s.Refused {
				d.Status.Conditions[0].Message = "refused"
			}
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
	h.Aggregator.Track(fixture.Parent(), nil)
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
			h.Aggregator.Track(fixture.Parent(), nil)
			h.replicas = 1
			reads := 0
			if !test.withoutRecordsTime {
				h.Recording.IsDue = func(now time.Time, _ client.Object, _ Summary) bool { return test.records && now.Equal(fixture.Now) }
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
		fail        error
		stale, gone bool
		want        time.Duration
		wantErr     error
		wantText    string
	}{
		"conflict":         {fail: apierrors.NewConflict(deployments, "p", nil), want: 5 * time.Second},
		"a stale cache":    {stale: true, want: 5 * time.Second},
		"no subresource":   {fail: apierrors.NewNotFound(deployments, "p"), wantText: "subresource status"},
		"gone":             {fail: apierrors.NewNotFound(deployments, "p"), gone: true},
		"any other error":  {fail: unavailable, wantErr: unavailable},
		"no error, at all": {},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, fixture.Parent())
			h.Aggregator.Track(fixture.Parent(), nil)
			h.replicas = 1
			h.api.Fail(test.fail, "patch/status")
			if test.gone {
				if err := h.api.Stored.Delete(t.Context(), fixture.Parent()); err != nil {
					t.Fatal(err)
				}
			}
			cached := fixture.Parent(func(p *appsv1.Deployment) {
				if test.stale {
					p.ResourceVersion = "1"
				}
			})
			result, err := h.Write(t.Context(), plan.Parent{Object: cached, Program: &plan.Program{}}, true)
			if test.wantText != "" {
				if err == nil || !strings.Contains(err.Error(), test.wantText) {
					t.Errorf("error %v, want %q", err, test.wantText)
				}
				return
			}
			if !errors.Is(err, test.wantErr) || result.RequeueAfter != test.want || cached.Status.Replicas != 0 {
				t.Errorf("wait %s, error %v; the cached parent has %d", result.RequeueAfter, err, cached.Status.Replicas)
			}
			if test.fail != nil && test.wantErr == nil && !test.gone {
				h.api.Fail(nil)
				h.clock.SetTime(fixture.Now.Add(5 * time.Second))
				if _, err := h.write(t); err != nil || h.api.Count("patch/status") != 2 {
					t.Errorf("%d writes, error %v", h.api.Count("patch/status"), err)
				}
			}
		})
	}
}

// Writes that fail back off, whatever else wakes the parent.
//
// Contract: STAT-13.
func TestWriterBacksOff(t *testing.T) {
	h := newHarness(t, fixture.Parent())
	h.Aggregator.Track(fixture.Parent(), nil)
	h.replicas = 1
	h.api.Fail(errors.New("unavailable"), "patch/status")
	var tried []time.Duration
	for after := time.Duration(0); after < 5*time.Minute; after += time.Second {
		h.clock.SetTime(fixture.Now.Add(after))
		if _, err := h.write(t); err != nil {
			tried = append(tried, after)
		}
	}
	const s = time.Second
	if want := []time.Duration{0, 5 * s, 15 * s, 35 * s, 75 * s, 135 * s, 195 * s, 255 * s}; !slices.Equal(tried, want) {
		t.Errorf("tried at %v, want %v", tried, want)
	}
	h.api.Fail(nil)
	h.clock.SetTime(fixture.Now.Add(6 * time.Minute))
	if _, err := h.write(t); err != nil {
		t.Fatal(err)
	}
	h.replicas = 2
	if got, err := h.write(t); err != nil || got != 5*time.Second {
		t.Errorf("after a success: wait %s, error %v", got, err)
	}
}

// A status that could not be written for three intervals is outdated, until it is written,
// there is nothing to write, or the parent is gone.
//
// Contract: FLEET-12.
func TestWriterReportsAnOutdatedStatus(t *testing.T) {
	refused, conflict := errors.New("etcdserver: request is too large"), apierrors.NewConflict(schema.GroupResource{}, "p", nil)
	const s = time.Second
	for name, test := range map[string]struct {
		fail error
		end  func(h *harness)
		want []time.Duration // when it begins and ends
	}{
		"refused":              {refused, func(h *harness) { h.api.Fail(nil) }, []time.Duration{15 * s, 135 * s}},
		"always overtaken":     {conflict, func(h *harness) { h.api.Fail(nil) }, []time.Duration{15 * s, 100 * s}},
		"nothing to write":     {refused, func(h *harness) { h.replicas = 0 }, []time.Duration{15 * s, 135 * s}},
		"the parent is gone":   {refused, func(h *harness) { h.replicas = 0; h.Forget(parent) }, []time.Duration{15 * s, 100 * s}},
		"refused for a moment": {refused, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, fixture.Parent())
			h.Aggregator.Track(fixture.Parent(), nil)
			h.replicas = 1
			h.api.Fail(test.fail, "patch/status")
			h.Unwritten = &Unwritten{}
			var changes []time.Duration
			h.Unwritten.OnChange(func(types.NamespacedName) { changes = append(changes, h.clock.Now().Sub(fixture.Now)) })
			for after := time.Duration(0); after < 5*time.Minute; after += s {
				h.clock.SetTime(fixture.Now.Add(after))
				if test.end == nil && after == 14*s {
					h.api.Fail(nil)
				} else if test.end != nil && after == 100*s {
					test.end(h)
				}
				_, _ = h.write(t)
				if outdated := len(changes) == 1; outdated != h.Unwritten.Has(parent) {
					t.Fatalf("after %s: outdated %t, changes %v", after, !outdated, changes)
				}
			}
			if !slices.Equal(changes, test.want) {
				t.Errorf("changed at %v, want %v", changes, test.want)
			}
		})
	}
}

// A write that never gets an answer ends.
//
// Contract: STAT-13.
func TestWriterHasADeadline(t *testing.T) {
	h := newHarness(t, fixture.Parent())
	h.Aggregator.Track(fixture.Parent(), nil)
	h.replicas, h.Timeout = 1, time.Millisecond
	h.api.Before = func(ctx context.Context, verb string, _ runtime.Object) error {
		if _, ends := ctx.Deadline(); ends && verb == "patch/status" {
			<-ctx.Done()
		}
		return ctx.Err()
	}
	if _, err := h.write(t); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
}

// What the API server refuses as invalid must not hide whether the parent is ready. Counts
// that cannot be written are removed, because somebody might take them for present ones.
//
// Contract: STAT-13.
func TestWriterWritesTheConditionsWhereTheRestIsRefused(t *testing.T) {
	h := newHarness(t, fixture.Parent())
	h.Aggregator.Track(fixture.Parent(), nil)
	h.replicas, h.condition = 1, "Failing"
	h.Unwritten = &Unwritten{}
	var patches []string
	h.Client = interceptor.NewClient(h.api, interceptor.Funcs{SubResourcePatch: func(
		ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption,
	) error {
		data, err := p.Data(o)
		if err != nil {
			return err
		}
		patches = append(patches, string(data))
		if strings.Contains(string(data), "replicas") {
			return apierrors.NewInvalid(schema.GroupKind{Kind: "Deployment"}, "p", nil)
		}
		return c.SubResource(sub).Patch(ctx, o, p, opts...)
	}})
	if _, err := h.write(t); !apierrors.IsInvalid(err) {
		t.Errorf("error %v", err)
	}
	want := `"status":{"conditions":[{"lastTransitionTime":null,"lastUpdateTime":null,"message":"refused","reason":"Failing","status":"","type":"Ready"}],"inputs":null,"outputs":null}}`
	if len(patches) != 2 || !strings.HasSuffix(patches[1], want) {
		t.Errorf("got %q, want %q at last", patches, want)
	}
	if got, err := h.write(t); err != nil || got != 5*time.Second {
		t.Errorf("tried again after %s, error %v", got, err)
	}
	for after := range 60 {
		h.clock.SetTime(fixture.Now.Add(time.Duration(after) * time.Second))
		if _, _ = h.write(t); h.Unwritten.Has(parent) {
			t.Fatalf("the conditions are written, and the status counts as outdated after %d seconds", after)
		}
	}
}

// What is not known is not written: until every key is decided, while a kind is missing,
// and where an output is referred to that should not be. Conditions are, after a moment.
//
// Contract: STAT-12.
func TestWriterWritesOnlyWhatIsKnown(t *testing.T) {
	invalid := errors.New("invalid")
	for name, test := range map[string]struct {
		change func(*harness)
		// keys are those that are known.
		keys    []string
		invalid error
		// wait is for how long the first write waits.
		wait                                  time.Duration
		wantTotals, wantSettled, wantReplicas bool
	}{
		"every key is decided": {wantTotals: true, wantSettled: true, wantReplicas: true},
		"a key is not decided": {keys: []string{"a"}, wait: patience},
		"the keys are not tracked yet": {
			change: func(h *harness) { h.Aggregator.Forget(parent, "p-uid") }, wait: patience},
		"of an invalid spec, a key is not decided": {keys: []string{"a"}, invalid: invalid, wait: patience, wantSettled: true, wantReplicas: true},
		"of an invalid spec":                       {invalid: invalid, wantTotals: true, wantSettled: true, wantReplicas: true},
		"a kind is missing":                        {change: func(h *harness) { h.missing = []string{"Pod"} }},
		"a kind is missing, and the spec invalid": {
			change: func(h *harness) { h.missing = []string{"Pod"} }, invalid: invalid, wantSettled: true, wantReplicas: true},
		"a reference is left": {change: func(h *harness) { h.referred = true }, wait: patience, wantTotals: true, wantReplicas: true},
		"of an invalid spec, a reference is left": {
			change: func(h *harness) { h.referred = true }, invalid: invalid, wait: patience, wantTotals: true, wantReplicas: true},
		"a kind is missing, and a reference left": {
			change: func(h *harness) { h.missing, h.referred = []string{"Pod"}, true }},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, fixture.Parent())
			h.Aggregator.Track(fixture.Parent(), test.keys)
			if test.change != nil {
				test.change(h)
			}
			h.replicas, h.condition = 7, "Set"
			write := func() time.Duration {
				t.Helper()
				current := &appsv1.Deployment{}
				must(t, h.api.Stored.Get(t.Context(), parent, current))
				result, err := h.Write(t.Context(), plan.Parent{Object: current, Program: &plan.Program{}, Invalid: test.invalid}, !h.referred)
				must(t, err)
				return result.RequeueAfter
			}
			if got := write(); got != test.wait || h.api.Count("patch/status") != min(1, int(patience-test.wait)) {
				t.Errorf("at first: wait %s, %d writes", got, h.api.Count("patch/status"))
			}
			h.clock.SetTime(fixture.Now.Add(test.wait))
			write()
			stored := &appsv1.Deployment{}
			must(t, h.api.Stored.Get(t.Context(), parent, stored))
			if h.last == nil || (h.last.Totals != nil) != test.wantTotals || h.last.Settled != test.wantSettled || !errors.Is(h.last.Invalid, test.invalid) {
				t.Errorf("status from %+v", h.last)
			}
			if (stored.Status.Replicas == 7) != test.wantReplicas || len(stored.Status.Conditions) != 1 || h.api.Count("patch/status") != 1 {
				t.Errorf("stored %+v after %d writes", stored.Status, h.api.Count("patch/status"))
			}
		})
	}
}

// A key that is decided while its status waits saves a write.
func TestWriterWaitsAMomentForKeys(t *testing.T) {
	h := newHarness(t, fixture.Parent())
	h.Aggregator.Track(fixture.Parent(), []string{"a"})
	h.replicas = 1
	for _, step := range []struct{ after, want time.Duration }{{0, patience}, {patience / 4, patience * 3 / 4}, {-time.Hour, patience}} {
		h.clock.SetTime(fixture.Now.Add(step.after))
		if got, err := h.write(t); err != nil || got != step.want || h.last != nil {
			t.Errorf("after %s: wait %s, status from %+v, error %v", step.after, got, h.last, err)
		}
	}
	h.Aggregator.Decide(h.Aggregator.epoch, request("a"), "p-uid", plan.KeyStatus{Generation: 1, Status: "a"})
	if got, err := h.write(t); err != nil || got != 0 || h.last == nil || !h.last.Settled || h.api.Count("patch/status") != 1 {
		t.Errorf("decided: wait %s, status from %+v, error %v", got, h.last, err)
	}
	// The next generation waits anew.
	next := fixture.Parent(func(p *appsv1.Deployment) { p.Generation = 2 })
	h.clock.SetTime(fixture.Now.Add(time.Hour))
	result, err := h.Write(t.Context(), plan.Parent{Object: next, Program: &plan.Program{}}, true)
	if err != nil || result.RequeueAfter != patience {
		t.Errorf("the next generation: wait %s, error %v", result.RequeueAfter, err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// The outputs are written as a whole, or not at all. Under an invalid spec they are absent
// while they are not known.
//
// Contract: STAT-12.
func TestKnown(t *testing.T) {
	outputs := map[string]any{"pods": map[string]any{"total": 0, "ready": 0}}
	part := map[string]any{"pods": map[string]any{"total": 0}}
	invalid := errors.New("invalid")
	for name, test := range map[string]struct {
		patch map[string]any
		s     Summary
		want  map[string]any
	}{
		"known": {map[string]any{"outputs": part, "x": 1}, Summary{Totals: map[string]int{}}, map[string]any{"outputs": outputs, "x": 1}},
		"removed": {
			map[string]any{"outputs": map[string]any{"pods": map[string]any{"ready": 1, "terminating": nil}, "jobs": nil}},
			Summary{Totals: map[string]int{}},
			map[string]any{"outputs": map[string]any{"pods": map[string]any{"total": 0, "ready": 0, "terminating": nil}, "jobs": nil}},
		},
		"unchanged": {map[string]any{"x": 1}, Summary{Totals: map[string]int{}}, map[string]any{"outputs": outputs, "x": 1}},
		"unknown": {
			map[string]any{"outputs": part, "x": 1, "conditions": 2, "record": 3}, Summary{}, map[string]any{"conditions": 2, "record": 3}},
		"invalid": {
			map[string]any{"outputs": part, "x": nil, "conditions": 2}, Summary{Invalid: invalid}, map[string]any{"conditions": 2, "x": nil, "outputs": nil}},
		"refused": {
			map[string]any{"x": 1, "conditions": 2, "record": 3}, Summary{Totals: map[string]int{}, Refused: true},
			map[string]any{"conditions": 2, "record": 3, "inputs": nil, "outputs": nil}},
	} {
		t.Run(name, func(t *testing.T) {
			w := &Writer{Recording: Recording{Field: "record"}}
			if got := w.known(test.patch, outputs, test.s); !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func TestSummary(t *testing.T) {
	h := newHarness(t, fixture.Parent())
	h.Aggregator.Track(fixture.Parent(), nil)
	h.Aggregator.Put(h.Aggregator.epoch, request("a"), "p-uid", plan.KeyStatus{Generation: 1, Status: "a"}, false)
	h.Aggregator.Put(h.Aggregator.epoch, request("none"), "p-uid", plan.KeyStatus{Generation: 1}, false)
	p := plan.Parent{Object: fixture.Parent(), Program: &plan.Program{Spec: "spec"}, Invalid: errors.New("invalid")}
	s := h.summary(p)
	if s.Totals == nil || !slices.Equal(s.Keys, []any{"a"}) || s.Spec != "spec" || !errors.Is(s.Invalid, p.Invalid) || s.Missing != nil {
		t.Errorf("got %+v", s)
	}
	h.missing = []string{"Pod"}
	if s := h.summary(p); s.Totals != nil || s.Keys != nil || !slices.Equal(s.Missing, h.missing) || !errors.Is(s.Invalid, p.Invalid) {
		t.Errorf("with a missing kind, got %+v", s)
	}
}
