// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package guard_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/fixture"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/guard"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/plan"
)

// confirm plans on the cache and returns the names of the confirmed deletes.
func confirm(e *fixture.Env) ([]string, guard.Confirmed, error) {
	parent, seen := e.Observe()
	p := e.Kinds.Build(parent, fixture.Request, seen)
	confirmed, err := e.Guard.Confirm(context.Background(), fixture.Request, parent.Object, p, p.Delete, seen)
	var objects []client.Object
	for _, d := range confirmed.Deletes() {
		objects = append(objects, d.Object)
	}
	return fixture.Names(objects), confirmed, err
}

func ready(o *corev1.Pod) { o.Spec.NodeName = "ready" }

func isReady(o client.Object) bool { return o.(*corev1.Pod).Spec.NodeName == "ready" }

// keepReady keeps the first ready output, on which the deletes depend.
func keepReady(seen plan.Observation) plan.Decision {
	for _, o := range seen.Outputs {
		if isReady(o) {
			return plan.Decision{Delete: fixture.DeleteAllBut(seen.Outputs, o.GetName()), Evidence: []client.Object{o}}
		}
	}
	return plan.Decision{}
}

// deleteC deletes c, which depends on the first other output that is ready.
func deleteC(seen plan.Observation) plan.Decision {
	d := plan.Decision{Delete: fixture.DeleteAllBut(seen.Outputs, "a", "b")}
	for _, o := range seen.Outputs {
		if o.GetName() != "c" && isReady(o) && len(d.Evidence) == 0 {
			d.Evidence = []client.Object{o}
		}
	}
	return d
}

// deleteWhileReady deletes b, and c as well while a is ready.
func deleteWhileReady(seen plan.Observation) plan.Decision {
	d := plan.Decision{Evidence: seen.Outputs[:1], Delete: fixture.DeleteAllBut(seen.Outputs, "a", "c")}
	if isReady(seen.Outputs[0]) {
		d.Delete = fixture.DeleteAllBut(seen.Outputs, "a")
	}
	return d
}

// deleteUnready deletes the first output, unless it is ready.
func deleteUnready(seen plan.Observation) plan.Decision {
	d := plan.Decision{Evidence: seen.Outputs[:1]}
	if !isReady(seen.Outputs[0]) {
		d.Delete = fixture.DeleteAllBut(seen.Outputs)
	}
	return d
}

var errUnavailable = errors.New("unavailable")

// failGet makes the reads of objects of a type fail.
func failGet[T runtime.Object](e *fixture.Env) {
	e.API.Before = func(_ context.Context, verb string, o runtime.Object) error {
		if _, ok := o.(T); ok && verb == "get" {
			return errUnavailable
		}
		return nil
	}
}

// Contract: GUARD-2, GUARD-3, GUARD-5.
func TestConfirmPlansAgainOnLiveObjects(t *testing.T) {
	// live is what the API server holds: what the cache holds, unless it changed.
	type live struct {
		parent *appsv1.Deployment
		input  *corev1.Secret
		pods   []*corev1.Pod
	}
	detached := []*corev1.Pod{fixture.Output("a"), fixture.Output("b")}
	twoReady := []*corev1.Pod{fixture.Output("a", ready), fixture.Output("b", ready)}
	threeReady := append(slices.Clone(twoReady), fixture.Output("c", ready))
	unowned := []*corev1.Pod{fixture.Output("a", ready, fixture.Orphan), fixture.Output("b", ready, fixture.Orphan)}
	byLabels := func(e *fixture.Env) { e.Kinds.Ownership.OwnsByLabels = fixture.Always }
	both := []string{"a", "b"}
	keepAll := func(plan.Observation) plan.Decision { return plan.Decision{} }
	named := func(s *corev1.Secret) { s.Name = "a" }
	unselected := func(s *corev1.Secret) { s.Labels = nil }
	anew := func(s *corev1.Secret) { s.UID = "new-uid" }
	input := func(changes ...func(*corev1.Secret)) func(*live) {
		return func(l *live) { l.input = fixture.Input(changes...) }
	}
	gone := func(l *live) { l.input = nil }

	for name, test := range map[string]struct {
		// outputs are a and b by default, cached is the input if there is one.
		outputs   []*corev1.Pod
		cached    *corev1.Secret
		tombstone func(plan.Observation) plan.Decision
		change    func(*live)
		env       func(*fixture.Env)
		want      []string
		wantErr   error
	}{
		"nothing changed":             {want: both},
		"parent is deleted":           {change: func(l *live) { l.parent = nil }, wantErr: guard.ErrChanged},
		"parent has a new generation": {change: func(l *live) { l.parent.Generation = 2 }, wantErr: guard.ErrChanged},
		"parent was created again":    {change: func(l *live) { l.parent.UID = "new-uid" }, wantErr: guard.ErrChanged},
		"parent is being deleted":     {change: func(l *live) { fixture.Deleting(l.parent) }, wantErr: guard.ErrChanged},
		"parent is invalid": {wantErr: guard.ErrChanged, env: func(e *fixture.Env) {
			e.API.After = func(string, runtime.Object) { e.Invalid = errors.New("invalid") }
		}},
		"parent cannot be read":   {env: func(e *fixture.Env) { e.API.Fail(errUnavailable, "get") }, wantErr: errUnavailable},
		"inputs cannot be listed": {env: func(e *fixture.Env) { e.API.Fail(errUnavailable, "list") }, wantErr: errUnavailable},

		"input is back": {change: input(named), want: []string{"b"}},
		"input is back, its only output is desired": {outputs: detached[:1], change: input(named), wantErr: guard.ErrChanged},
		"input is back, not selected":               {change: input(named, unselected), want: both},
		"input is back, controlled by the parent": {want: both, change: input(named, func(s *corev1.Secret) {
			s.OwnerReferences = fixture.Output("a").OwnerReferences
		})},
		"another input has its name":       {change: input(named, anew), want: both},
		"inputs cannot be read":            {change: input(named), env: failGet[*corev1.Secret], wantErr: errUnavailable},
		"cached input is there":            {cached: fixture.Input(), want: both},
		"cached input is gone":             {cached: fixture.Input(), change: gone, want: both},
		"cached input is gone, tombstone":  {cached: fixture.Input(), tombstone: keepAll, change: gone, wantErr: guard.ErrChanged},
		"cached input was created again":   {cached: fixture.Input(), tombstone: keepAll, change: input(anew), wantErr: guard.ErrChanged},
		"cached input is not selected now": {cached: fixture.Input(), tombstone: keepAll, change: input(unselected), wantErr: guard.ErrChanged},
		"cached input is selected now":     {cached: fixture.Input(named, unselected), change: input(named), want: []string{"b"}},

		"evidence as cached": {outputs: twoReady, tombstone: keepReady, want: []string{"b"}},
		"evidence is no longer ready": {
			outputs: twoReady, tombstone: keepReady, change: func(l *live) { l.pods[0].Spec.NodeName = "" }, wantErr: guard.ErrChanged,
		},
		"evidence is gone": {
			outputs: twoReady, tombstone: keepReady, change: func(l *live) { l.pods = l.pods[1:] }, wantErr: guard.ErrChanged,
		},
		"evidence was created again": {
			outputs: twoReady, tombstone: keepReady, change: func(l *live) { l.pods[0].UID = "new" }, wantErr: guard.ErrChanged,
		},
		"evidence was released": {
			outputs: twoReady, tombstone: keepReady, change: func(l *live) { fixture.Orphan(l.pods[0]) }, wantErr: guard.ErrChanged,
		},
		"evidence lost its map key": {
			outputs: twoReady, tombstone: keepReady, wantErr: guard.ErrChanged,
			change: func(l *live) { l.pods[0].Labels[fixture.Tags.MapKey] = "" },
		},
		"evidence got another map key": {
			outputs: twoReady, tombstone: keepReady, wantErr: guard.ErrChanged,
			change: func(l *live) { l.pods[0].Labels[fixture.Tags.MapKey] = "other" },
		},
		"evidence cannot be read": {
			outputs: twoReady, tombstone: keepReady, wantErr: errUnavailable, env: failGet[*corev1.Pod],
		},
		// Only the cache says that b is still there.
		"evidence is replaced by what was not read": {
			outputs: threeReady, tombstone: deleteC, change: func(l *live) { l.pods = l.pods[2:] }, wantErr: guard.ErrChanged,
		},
		"evidence supports only some of the deletes": {
			outputs: threeReady, tombstone: deleteWhileReady, change: func(l *live) { l.pods[0].Spec.NodeName = "" }, want: []string{"b"},
		},
		"evidence is deleted itself, and is wanted now": {
			outputs: detached[:1], tombstone: deleteUnready, change: func(l *live) { ready(l.pods[0]) }, wantErr: guard.ErrChanged,
		},

		"by labels: evidence as cached": {env: byLabels, outputs: unowned, tombstone: keepReady, want: []string{"b"}},
		"by labels: evidence is still owned": {
			env: byLabels, outputs: []*corev1.Pod{twoReady[0], unowned[1]}, tombstone: keepReady, want: []string{"b"},
		},
		"by labels: what is still owned is not deleted": {env: byLabels, outputs: twoReady, tombstone: keepReady, wantErr: guard.ErrChanged},
		"by labels: evidence was released": {
			env: byLabels, outputs: unowned, tombstone: keepReady, wantErr: guard.ErrChanged,
			change: func(l *live) { l.pods[0].Labels[fixture.Tags.Parent] = "q" },
		},
		"by labels: evidence was taken by something else": {
			env: byLabels, outputs: unowned, tombstone: keepReady, wantErr: guard.ErrChanged,
			change: func(l *live) { fixture.Owners(fixture.OwnedBy("q", "q-uid"))(l.pods[0]) },
		},

		"server's clock is behind":      {env: func(e *fixture.Env) { e.API.Skew = -2 * time.Minute }, wantErr: guard.ErrClockSkew},
		"server's clock is ahead":       {env: func(e *fixture.Env) { e.API.Skew = 2 * time.Minute }, wantErr: guard.ErrClockSkew},
		"server's clock is near enough": {env: func(e *fixture.Env) { e.API.Skew = 30 * time.Second }, want: both},
	} {
		t.Run(name, func(t *testing.T) {
			cached, now := []client.Object{fixture.Parent()}, live{parent: fixture.Parent(), input: test.cached}
			if test.cached != nil {
				cached = append(cached, test.cached)
			}
			if test.outputs == nil {
				test.outputs = detached
			}
			for _, o := range test.outputs {
				cached, now.pods = append(cached, o), append(now.pods, o.DeepCopy())
			}
			if test.change != nil {
				test.change(&now)
			}
			var stored []client.Object
			if now.parent != nil {
				stored = append(stored, now.parent)
			}
			if now.input != nil {
				stored = append(stored, now.input)
			}
			for _, o := range now.pods {
				stored = append(stored, o)
			}
			e := fixture.New(t, cached, stored)
			e.Program.Tombstone = test.tombstone
			if test.env != nil {
				test.env(e)
			}

			got, _, err := confirm(e)
			if !errors.Is(err, test.wantErr) || (err == nil && !slices.Equal(got, test.want)) {
				t.Errorf("got %v, %v; want %v, %v", got, err, test.want, test.wantErr)
			}
			if lists := e.API.Count("list"); test.cached != nil && lists > 0 {
				t.Errorf("%d lists for an input that the cache has", lists)
			}
		})
	}
}

// The second plan knows how far the local clock is ahead of the API server's, at least;
// also where the parent's read is shared.
//
// Contract: EDIT-1.
func TestConfirmPlansWithTheDifferenceOfTheClocks(t *testing.T) {
	for name, test := range map[string]struct{ skew, want time.Duration }{
		"the clocks agree":        {0, 0},
		"the local one is ahead":  {-20 * time.Second, 19 * time.Second}, // a second is cut off
		"the local one is behind": {20 * time.Second, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var ahead []time.Duration
			objects := []client.Object{fixture.Parent(), fixture.Output("a", ready), fixture.Output("b")}
			e := fixture.New(t, objects, objects)
			e.Program.Tombstone = func(seen plan.Observation) plan.Decision {
				ahead = append(ahead, seen.Ahead)
				return keepReady(seen)
			}
			e.API.Skew = test.skew
			for range 2 {
				if deleted, _, err := confirm(e); err != nil || !slices.Equal(deleted, []string{"b"}) {
					t.Fatalf("confirmed %v, error %v", deleted, err)
				}
			}
			if want := []time.Duration{0, test.want, 0, test.want}; !slices.Equal(ahead, want) {
				t.Errorf("planned with %v, want %v", ahead, want)
			}
		})
	}
}

// A kind may know of reasons against a delete that only a live read shows.
func TestConfirmAsksTheKindLast(t *testing.T) {
	ask := func(answer func(o client.Object) (bool, error)) func(context.Context, client.Reader, client.Object) (bool, error) {
		return func(ctx context.Context, live client.Reader, o client.Object) (bool, error) {
			if err := live.Get(ctx, client.ObjectKeyFromObject(o), &corev1.Pod{}); err != nil {
				return false, err
			}
			return answer(o)
		}
	}
	for name, test := range map[string]struct {
		answer  func(client.Object) (bool, error)
		want    []string
		wantErr error
	}{
		"it agrees":         {answer: func(client.Object) (bool, error) { return true, nil }, want: []string{"a", "b"}},
		"it objects to one": {answer: func(o client.Object) (bool, error) { return o.GetName() == "b", nil }, want: []string{"b"}},
		"it objects to all": {answer: func(client.Object) (bool, error) { return false, nil }, wantErr: guard.ErrChanged},
		"it cannot know":    {answer: func(client.Object) (bool, error) { return true, errUnavailable }, wantErr: errUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			objects := []client.Object{fixture.Parent(), fixture.Output("a"), fixture.Output("b")}
			pods := fixture.Outputs()[0]
			pods.Deletable = ask(test.answer)
			e := fixture.New(t, objects, objects, pods)
			got, _, err := confirm(e)
			if !errors.Is(err, test.wantErr) || (err == nil && !slices.Equal(got, test.want)) {
				t.Errorf("got %v, %v; want %v, %v", got, err, test.want, test.wantErr)
			}
		})
	}
}

// A server that does not send its time has a clock that cannot be trusted.
//
// Contract: GUARD-7.
func TestConfirmNeedsTheServersClock(t *testing.T) {
	objects := []client.Object{fixture.Parent(), fixture.Output("a")}
	e := fixture.New(t, objects, objects)
	e.API.NoDate = true
	if _, _, err := confirm(e); !errors.Is(err, guard.ErrClockSkew) {
		t.Errorf("got %v, want ErrClockSkew", err)
	}
}

// A read under a wrong clock must not look fresh when the clock is right again.
//
// Contract: GUARD-6.
func TestConfirmDoesNotShareAReadUnderAWrongClock(t *testing.T) {
	objects := []client.Object{fixture.Parent(), fixture.Output("a")}
	e := fixture.New(t, objects, objects)
	e.API.Skew = -5 * time.Minute
	if _, _, err := confirm(e); !errors.Is(err, guard.ErrClockSkew) {
		t.Fatalf("got %v, want ErrClockSkew", err)
	}
	reads := e.API.Count("get")
	e.API.Skew = 0
	e.Clock.SetTime(fixture.Now.Add(time.Second))
	if _, _, err := confirm(e); err != nil || e.API.Count("get") != 2*reads {
		t.Errorf("%v, %d reads, want %d", err, e.API.Count("get"), 2*reads)
	}
}

// The keys of a parent that delete at about the same time share its read. What
// is confirmed is no older than its oldest read.
//
// Contract: GUARD-6.
func TestConfirmSharesTheParentForThreeSeconds(t *testing.T) {
	objects := []client.Object{fixture.Parent(), fixture.Output("a")}
	e := fixture.New(t, objects, objects)
	if _, confirmed, err := confirm(e); err != nil || confirmed.Left(e.Clock.Now()) != 5*time.Second {
		t.Fatalf("%v, valid for %s", err, confirmed.Left(e.Clock.Now()))
	}
	parent := fixture.Parent()
	if err := e.API.Stored.Get(t.Context(), client.ObjectKeyFromObject(parent), parent); err != nil {
		t.Fatal(err)
	}
	parent.Generation = 2
	if err := e.API.Stored.Update(t.Context(), parent); err != nil {
		t.Fatal(err)
	}
	e.Clock.SetTime(fixture.Now.Add(3*time.Second - time.Millisecond))
	if _, confirmed, err := confirm(e); err != nil || confirmed.Left(e.Clock.Now()) != 2*time.Second+time.Millisecond {
		t.Errorf("shared: %v, valid for %s", err, confirmed.Left(e.Clock.Now()))
	}
	e.Clock.SetTime(fixture.Now.Add(3 * time.Second))
	if _, _, err := confirm(e); !errors.Is(err, guard.ErrChanged) {
		t.Errorf("after the read has expired: %v", err)
	}
	if _, _, err := confirm(e); !errors.Is(err, guard.ErrChanged) || e.API.Count("get") != 2 {
		t.Errorf("%v after %d reads, want 2", err, e.API.Count("get"))
	}
}

// An input under another name than its outputs remember, which the cache does not
// have, is not gone. The keys that look for theirs at about the same time share one
// list of metadata, and what it confirms is no older than the list.
//
// Contract: GUARD-5.
func TestConfirmLooksForTheMapKeyUnderAllNames(t *testing.T) {
	renamed := fixture.Input(func(s *corev1.Secret) { s.Name = "renamed" })
	cached := []client.Object{fixture.Parent(), fixture.Output("renamed"), fixture.Output("b")}
	e := fixture.New(t, cached, append(slices.Clone(cached), renamed))
	for _, step := range []struct {
		after     time.Duration
		wantLists int
		wantLeft  time.Duration
	}{
		{0, 1, 5 * time.Second}, {time.Second, 1, 4 * time.Second}, {3 * time.Second, 2, 5 * time.Second},
	} {
		e.Clock.SetTime(fixture.Now.Add(step.after))
		got, confirmed, err := confirm(e)
		if err != nil || !slices.Equal(got, []string{"b"}) || e.API.Count("list") != step.wantLists || confirmed.Left(e.Clock.Now()) != step.wantLeft {
			t.Errorf("after %s: %v, %v, %d lists, valid for %s", step.after, got, err, e.API.Count("list"), confirmed.Left(e.Clock.Now()))
		}
	}
}

// A wrong clock that the shared reads have seen holds up everyone who shares them.
//
// Contract: GUARD-7.
func TestConfirmSharesTheSkewOfSharedReads(t *testing.T) {
	objects := []client.Object{fixture.Parent(), fixture.Output("a")}
	e := fixture.New(t, objects, objects)
	e.Guard.MaxClockSkew = time.Hour
	e.API.Skew = 2 * time.Minute
	if _, _, err := confirm(e); err != nil {
		t.Fatal(err)
	}
	e.Guard.MaxClockSkew = time.Minute
	if _, _, err := confirm(e); !errors.Is(err, guard.ErrClockSkew) || e.API.Count("*") != 2 {
		t.Errorf("got %v after %d requests, want ErrClockSkew after 2", err, e.API.Count("*"))
	}
}

// The members of a large floor are read concurrently: one after the other they would
// never all be recent.
//
// Contract: GUARD-6.
func TestConfirmReadsALargeFloorInTime(t *testing.T) {
	objects := []client.Object{fixture.Parent(), fixture.Output("z")}
	for i := range 300 {
		objects = append(objects, fixture.Output(fmt.Sprint(i)))
	}
	e := fixture.New(t, objects, objects)
	e.Guard.Concurrency = 16
	e.Program.Tombstone = func(seen plan.Observation) plan.Decision {
		d := plan.Decision{Delete: fixture.DeleteAllBut(seen.Outputs[300:])}
		for _, o := range seen.Outputs {
			if o.GetName() != "z" {
				d.Evidence = append(d.Evidence, o)
			}
		}
		return d
	}
	synctest.Test(t, func(t *testing.T) {
		e.API.Before = func(_ context.Context, verb string, _ runtime.Object) error {
			if verb == "get" {
				time.Sleep(20 * time.Millisecond)
			}
			return nil
		}
		start := time.Now()
		got, _, err := confirm(e)
		if took := time.Since(start); err != nil || !slices.Equal(got, []string{"z"}) || took > time.Second {
			t.Errorf("confirmed %v after %s, error %v", got, took, err)
		}
	})
}
