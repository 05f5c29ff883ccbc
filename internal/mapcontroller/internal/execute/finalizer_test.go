// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/fixture"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/plan"
)

// What is not released is left to the garbage collector. A list that finds no
// such kind is believed only if discovery says so as well.
func TestReleaseDoesNotTrustNotFound(t *testing.T) {
	notFound := apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, "")
	for name, missing := range map[string]bool{"the kind is installed": false, "it is not": true} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, nil, nil)
			h.api.Fail(notFound, "list")
			h.Missing = func(error) bool { return missing }
			err := h.releaseAll(t.Context(), fixture.Parent())
			if (err == nil) != missing {
				t.Errorf("got %v", err)
			}
		})
	}
}

// A key may be reconciled while the outputs are released.
func TestReleaseListsUntilNothingIsOwned(t *testing.T) {
	foreign := fixture.Output("foreign", fixture.Owners(fixture.OwnedBy("q", "q-uid")))
	untagged := fixture.Output("untagged", func(o *corev1.Pod) { o.Labels = nil })
	notController := fixture.Output("c", func(o *corev1.Pod) { o.OwnerReferences[0].Controller = nil })
	h := newHarness(t, nil, []client.Object{
		fixture.Output("a"), fixture.Output("b", fixture.Label(fixture.Tags.MapKey, "other")), notController, untagged, foreign,
	})
	h.Kinds.Ownership.OwnsByLabels = fixture.Always
	created := false
	h.api.After = func(verb string, _ runtime.Object) {
		if verb == "list" && !created {
			created = true
			late := fixture.Output("late")
			late.ResourceVersion = ""
			_ = h.api.Stored.Create(t.Context(), late)
		}
	}
	if err := h.releaseAll(t.Context(), fixture.Parent()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b", "c", "untagged", "late"} {
		if refs := h.api.Pod(t, name).OwnerReferences; len(refs) > 0 {
			t.Errorf("%s: owners %v", name, refs)
		}
	}
	if len(h.api.Pod(t, "foreign").OwnerReferences) != 1 || h.api.Count("list") != 3 {
		t.Errorf("foreign: %v, %d lists", h.api.Pod(t, "foreign").OwnerReferences, h.api.Count("list"))
	}
}

// All requests of the operator share seats at the API server, and a namespace may have half of the
// workers. Where its admission hangs, each must not keep more than a few seats.
func TestReleaseKeepsFewSeatsWhileAdmissionHangs(t *testing.T) {
	var outputs []client.Object
	for i := range 100 {
		outputs = append(outputs, fixture.Output(fmt.Sprint("output-", i)))
	}
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, nil, outputs)
		h.Kinds.Ownership.OwnsByLabels = fixture.Always
		var seats, most atomic.Int32
		h.api.Before = func(_ context.Context, verb string, _ runtime.Object) error {
			if verb == "patch" {
				most.Store(max(most.Load(), seats.Add(1)))
				time.Sleep(time.Second)
				seats.Add(-1)
			}
			return nil
		}
		if err := h.releaseAll(t.Context(), fixture.Parent()); err != nil || most.Load() > 4 {
			t.Errorf("%d seats, %v", most.Load(), err)
		}
	})
}

// Contract: OWN-6, OWN-7.
func TestReleaseKeepsTheFinalizer(t *testing.T) {
	const name = "test/finalizer"
	with := func(p *appsv1.Deployment) { p.Finalizers = append(p.Finalizers, name) }
	second := func(p *appsv1.Deployment) { p.Generation = 2 }
	observed := func(p *appsv1.Deployment) { p.Status.ObservedGeneration = 2 }
	deleting := fixture.Deleting[*appsv1.Deployment]
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns"}}
	terminating := namespace.DeepCopy()
	fixture.Deleting(terminating)
	type changes = []func(*appsv1.Deployment)

	for title, test := range map[string]struct {
		changes     changes
		byReference bool
		namespace   *corev1.Namespace
		settled     bool
		fail        string
		err         error
		// wantNone and wantChanged are returned.
		wantNone, wantChanged bool
		// wantReleased is set if the output has no reference in the end.
		wantReleased bool
		want         []string
		wantErr      bool
		wantRequests int
	}{
		"by reference: none":          {byReference: true, wantNone: true},
		"by reference: is removed":    {changes: changes{with}, byReference: true, wantNone: true, wantChanged: true, wantRequests: 1},
		"by reference: deleting":      {changes: changes{deleting, with}, byReference: true, wantNone: true, wantChanged: true, want: []string{"test/hold"}, wantRequests: 1},
		"created so":                  {wantNone: true},
		"created with it":             {changes: changes{with}, want: []string{name}},
		"created with it, settled":    {changes: changes{with}, settled: true, wantNone: true, wantChanged: true, wantReleased: true, wantRequests: 4},
		"changed: is added":           {changes: changes{second}, wantChanged: true, want: []string{name}, wantRequests: 1},
		"changed: stays":              {changes: changes{second, with}, want: []string{name}},
		"settled: is removed":         {changes: changes{second, with}, settled: true, wantNone: true, wantChanged: true, wantReleased: true, wantRequests: 4},
		"settled before it is added":  {changes: changes{second}, settled: true, wantNone: true, wantReleased: true, wantRequests: 3},
		"settled, release fails":      {changes: changes{second, with}, settled: true, fail: "list", want: []string{name}, wantErr: true, wantRequests: 1},
		"changed: cannot be added":    {changes: changes{second}, fail: "patch", wantErr: true, wantRequests: 1},
		"observed":                    {changes: changes{second, observed}, wantNone: true},
		"observed with it":            {changes: changes{second, observed, with}, want: []string{name}},
		"deleting: releases":          {changes: changes{second, deleting, with}, namespace: namespace, wantNone: true, wantChanged: true, wantReleased: true, want: []string{"test/hold"}, wantRequests: 5},
		"deleting: is not added":      {changes: changes{second, deleting}, namespace: namespace, wantNone: true, wantReleased: true, want: []string{"test/hold"}, wantRequests: 4},
		"deleting: release fails":     {changes: changes{second, deleting, with}, namespace: namespace, fail: "list", want: []string{"test/hold", name}, wantErr: true, wantRequests: 2},
		"deleting: read fails":        {changes: changes{second, deleting, with}, namespace: namespace, fail: "get", want: []string{"test/hold", name}, wantErr: true, wantRequests: 1},
		"deleting: with Roles only":   {changes: changes{second, deleting, with}, namespace: namespace, fail: "get", err: forbidden, wantNone: true, wantChanged: true, wantReleased: true, want: []string{"test/hold"}, wantRequests: 5},
		"deleting with its namespace": {changes: changes{second, deleting, with}, namespace: terminating, wantNone: true, wantChanged: true, want: []string{"test/hold"}, wantRequests: 2},
	} {
		t.Run(title, func(t *testing.T) {
			parent := fixture.Parent(test.changes...)
			objects := []client.Object{parent, fixture.Output("a")}
			if test.namespace != nil {
				objects = append(objects, test.namespace)
			}
			h := newHarness(t, nil, objects)
			h.api.Fail(cmp.Or(test.err, errTest), test.fail)
			h.Finalizer, h.Kinds.Ownership.OwnsByLabels = name, func(client.Object) bool { return !test.byReference }
			h.Missing = func(error) bool { return false }
			before := parent.DeepCopy()
			got, err := h.Release(t.Context(), plan.Parent{Object: parent, Read: parent}, func() bool { return test.settled })
			if want := (Released{All: test.wantNone, Changed: test.wantChanged}); got != want || (err != nil) != test.wantErr {
				t.Fatalf("%+v, error %v; want %+v", got, err, test)
			}
			if h.api.Count("*") != test.wantRequests || !slices.Equal(parent.Finalizers, before.Finalizers) {
				t.Errorf("%d requests, want %d; the cached parent has %v", h.api.Count("*"), test.wantRequests, parent.Finalizers)
			}
			var stored appsv1.Deployment
			if err := h.api.Stored.Get(t.Context(), client.ObjectKeyFromObject(parent), &stored); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(stored.Finalizers, test.want) {
				t.Errorf("finalizers %v, want %v", stored.Finalizers, test.want)
			}
			if released := len(h.api.Pod(t, "a").OwnerReferences) == 0; released != test.wantReleased {
				t.Errorf("released: %v, want %v", released, test.wantReleased)
			}
		})
	}
}

// The cache has an older version of the parent, which people may edit: who does so again and again must neither keep the
// finalizer off, nor keep the parent.
//
// Contract: OWN-6.
func TestReleaseWhateverElseHasChanged(t *testing.T) {
	const name = "test/finalizer"
	second := func(p *appsv1.Deployment) { p.Generation = 2 }
	changed := func(p *appsv1.Deployment) { p.ResourceVersion = "1000" }
	others := func(p *appsv1.Deployment) { p.Finalizers = append(p.Finalizers, "test/other") }
	none := func(*appsv1.Deployment) {}
	deleting := fixture.Deleting[*appsv1.Deployment]
	for title, test := range map[string]struct {
		cached, stored func(*appsv1.Deployment)
		want           bool
	}{
		"an annotation":                          {none, none, true},
		"an annotation, while it is deleted":     {deleting, deleting, true},
		"another finalizer":                      {none, others, true},
		"another finalizer, while it is deleted": {deleting, func(p *appsv1.Deployment) { deleting(p); others(p) }, true},
		"the spec":                               {none, func(p *appsv1.Deployment) { p.Generation = 3 }, false},
		"the UID":                                {none, func(p *appsv1.Deployment) { p.UID = "new" }, false},
		"the owner":                              {none, func(p *appsv1.Deployment) { p.OwnerReferences = fixture.Output("a").OwnerReferences }, false},
		"it is being deleted":                    {none, deleting, false},
	} {
		for verb, has := range map[string]bool{"set": false, "removed": true} {
			cached := fixture.Parent(second, test.cached)
			if !has && cached.DeletionTimestamp != nil {
				continue // it gets none
			}
			t.Run(verb+": "+title, func(t *testing.T) {
				with := func(p *appsv1.Deployment) {
					if has {
						p.Finalizers = append(p.Finalizers, name)
					}
				}
				with(cached)
				stored := fixture.Parent(second, test.stored, with, changed)
				h := newHarness(t, nil, []client.Object{stored, fixture.Output("a")})
				h.Finalizer, h.Kinds.Ownership.OwnsByLabels = name, fixture.Always
				got, err := h.Release(t.Context(), plan.Parent{Object: cached, Read: cached}, func() bool { return has })
				if got.Changed != test.want || apierrors.IsConflict(err) == test.want || test.want && err != nil {
					t.Errorf("changed: %v, want %v; error %v", got.Changed, test.want, err)
				}
				now := &appsv1.Deployment{}
				if err := h.api.Stored.Get(t.Context(), client.ObjectKeyFromObject(stored), now); err != nil {
					t.Fatal(err)
				}
				if held := slices.Contains(now.Finalizers, name); held != (has != test.want) {
					t.Errorf("finalizers %v", now.Finalizers)
				}
				if other := slices.Contains(stored.Finalizers, "test/other"); other != slices.Contains(now.Finalizers, "test/other") {
					t.Errorf("of somebody else: %v", now.Finalizers)
				}
			})
		}
	}
}

// Whether references are left is not asked again for the same version of a parent, nor
// for the next one, if that owns by labels as well.
func TestReleaseRemembers(t *testing.T) {
	type step struct {
		uid        types.UID
		generation int64
		byLabels   bool
		wantLists  int
	}
	for name, steps := range map[string][]step{
		"the same generation":     {{"u", 2, true, 1}, {"u", 2, true, 1}},
		"the next generations":    {{"u", 2, true, 1}, {"u", 3, true, 1}, {"u", 4, true, 1}},
		"since the first":         {{"u", 1, true, 0}, {"u", 2, true, 0}},
		"not after a gap":         {{"u", 2, true, 1}, {"u", 4, true, 2}},
		"not of an earlier one":   {{"u", 3, true, 1}, {"u", 2, true, 2}},
		"not by reference":        {{"u", 2, true, 1}, {"u", 3, false, 1}, {"u", 4, true, 2}},
		"not after a restore":     {{"u", 3, true, 1}, {"u", 2, false, 1}, {"u", 3, true, 2}},
		"not of another parent":   {{"u", 2, true, 1}, {"v", 2, true, 2}},
		"not of a forgotten one":  {{"u", 2, true, 1}, {}, {"u", 2, true, 2}},
		"not if it was by labels": {{"u", 1, false, 0}, {"u", 2, true, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, nil, nil)
			h.Finalizer = "test/finalizer"
			for i, step := range steps {
				if step.uid == "" {
					h.ForgetParent(fixture.Request.Parent)
					continue
				}
				h.Kinds.Ownership.OwnsByLabels = func(client.Object) bool { return step.byLabels }
				parent := fixture.Parent(func(p *appsv1.Deployment) { p.UID, p.Generation = step.uid, step.generation })
				got, err := h.Release(t.Context(), plan.Parent{Object: parent, Read: parent}, func() bool { return true })
				if lists := h.api.Count("list"); err != nil || !got.All || lists != step.wantLists {
					t.Errorf("step %d: none left %v, error %v, %d lists, want %d", i, got.All, err, lists, step.wantLists)
				}
			}
		})
	}
}

// While something else decides who owns the outputs, no generation stands for that: the finalizer stays, and when both agree
// again, a live list shows whether references are left.
func TestReleaseWhileAnotherSpecDecides(t *testing.T) {
	byLabels := func(parent client.Object) bool { return parent.GetAnnotations()["test/by"] == "labels" }
	own := func(labels bool) func(*appsv1.Deployment) {
		return func(p *appsv1.Deployment) {
			p.Generation = 1 // of which no reference is expected
			if labels {
				p.Annotations = map[string]string{"test/by": "labels"}
			}
		}
	}
	for name, test := range map[string]struct{ read, decided bool }{
		"by labels, its own is not": {false, true},
		"not, its own is by labels": {true, false},
	} {
		t.Run(name, func(t *testing.T) {
			read := fixture.Parent(own(test.read))
			h := newHarness(t, nil, []client.Object{read.DeepCopy(), fixture.Output("a")})
			h.Finalizer, h.Kinds.Ownership.OwnsByLabels = "test/finalizer", byLabels
			always := func() bool { return true }
			got, err := h.Release(t.Context(), plan.Parent{Object: fixture.Parent(own(test.decided)), Read: read}, always)
			if err != nil || got.All || !got.Changed {
				t.Errorf("got %+v, %v", got, err)
			}
			again := &appsv1.Deployment{}
			if err := h.api.Stored.Get(t.Context(), client.ObjectKeyFromObject(read), again); err != nil {
				t.Fatal(err)
			}
			own(true)(again)
			if _, err := h.Release(t.Context(), plan.Parent{Object: again, Read: again}, always); err != nil {
				t.Error(err)
			}
			if len(h.api.Pod(t, "a").OwnerReferences) != 0 {
				t.Error("a reference is left")
			}
		})
	}
}

// Something that puts the reference back again and again must not hold a worker
// for ever.
func TestReleaseGivesUpAfterSomeRounds(t *testing.T) {
	h := newHarness(t, nil, []client.Object{fixture.Output("a")})
	h.Kinds.Ownership.OwnsByLabels = fixture.Always
	h.api.After = func(verb string, _ runtime.Object) {
		if verb == "patch" {
			o := h.api.Pod(t, "a")
			o.OwnerReferences = fixture.Output("a").OwnerReferences
			if err := h.api.Stored.Update(t.Context(), o); err != nil {
				t.Error(err)
			}
		}
	}
	if err := h.releaseAll(t.Context(), fixture.Parent()); err == nil || h.api.Count("patch") != releaseRounds {
		t.Errorf("%v after %d releases", err, h.api.Count("patch"))
	}
}
