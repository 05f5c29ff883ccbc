// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"context"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/fixture"
)

// What is not released is left to the garbage collector. A list that finds no
// such kind is believed only if discovery says so as well.
func TestFinalizeDoesNotTrustNotFound(t *testing.T) {
	notFound := apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, "")
	for name, missing := range map[string]bool{"the kind is installed": false, "it is not": true} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, nil, nil)
			h.api.Fail(notFound, "list")
			h.Missing = func(context.Context, error) bool { return missing }
			err := h.releaseAll(t.Context(), fixture.Parent())
			if (err == nil) != missing {
				t.Errorf("got %v", err)
			}
		})
	}
}

// A key may be reconciled while the outputs are released.
func TestFinalizeListsUntilNothingIsOwned(t *testing.T) {
	foreign := fixture.Output("foreign", fixture.Owners(fixture.OwnedBy("q", "q-uid")))
	h := newHarness(t, nil, []client.Object{fixture.Output("a"), fixture.Output("b", fixture.Label(fixture.Tags.MapKey, "other")), foreign})
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
	for _, name := range []string{"a", "b", "late"} {
		if refs := h.api.Pod(t, name).OwnerReferences; len(refs) > 0 {
			t.Errorf("%s: owners %v", name, refs)
		}
	}
	if len(h.api.Pod(t, "foreign").OwnerReferences) != 1 || h.api.Count("list") != 3 {
		t.Errorf("foreign: %v, %d lists", h.api.Pod(t, "foreign").OwnerReferences, h.api.Count("list"))
	}
}

func TestFinalize(t *testing.T) {
	const name = "test/finalizer"
	with := func(p *appsv1.Deployment) { p.Finalizers = append(p.Finalizers, name) }
	deleting := fixture.Deleting[*appsv1.Deployment]
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns"}}
	terminating := namespace.DeepCopy()
	fixture.Deleting(terminating)

	for title, test := range map[string]struct {
		parent       *appsv1.Deployment
		namespace    *corev1.Namespace
		orphan       bool
		fail         string
		wantReleased bool
		want         []string
		wantErr      bool
		wantRequests int
	}{
		"neither wanted nor there":            {parent: fixture.Parent()},
		"wanted and there":                    {parent: fixture.Parent(with), orphan: true, want: []string{name}},
		"is added":                            {parent: fixture.Parent(), orphan: true, want: []string{name}, wantRequests: 1},
		"is removed":                          {parent: fixture.Parent(with), wantRequests: 1},
		"is not added to a parent under way":  {parent: fixture.Parent(deleting), orphan: true, want: []string{"test/hold"}},
		"releases before it is removed":       {parent: fixture.Parent(deleting, with), orphan: true, namespace: namespace, wantReleased: true, want: []string{"test/hold"}, wantRequests: 5},
		"stays if the release fails":          {parent: fixture.Parent(deleting, with), orphan: true, namespace: namespace, fail: "list", want: []string{"test/hold", name}, wantErr: true, wantRequests: 2},
		"releases nothing if it is too late":  {parent: fixture.Parent(deleting, with), namespace: namespace, want: []string{"test/hold"}, wantRequests: 1},
		"releases nothing with its namespace": {parent: fixture.Parent(deleting, with), orphan: true, namespace: terminating, want: []string{"test/hold"}, wantRequests: 2},
	} {
		t.Run(title, func(t *testing.T) {
			stored := []client.Object{test.parent, fixture.Output("a")}
			if test.namespace != nil {
				stored = append(stored, test.namespace)
			}
			h := newHarness(t, nil, stored)
			h.api.Fail(errTest, test.fail)
			h.Finalizer, h.Orphan = name, func(client.Object) bool { return test.orphan }
			h.Missing = func(context.Context, error) bool { return false }
			before := test.parent.DeepCopy()
			if err := h.Finalize(t.Context(), test.parent); (err != nil) != test.wantErr {
				t.Fatal(err)
			}
			if h.api.Count("*") != test.wantRequests || !slices.Equal(test.parent.Finalizers, before.Finalizers) {
				t.Errorf("%d requests, want %d; the cached parent has %v", h.api.Count("*"), test.wantRequests, test.parent.Finalizers)
			}
			var got appsv1.Deployment
			if err := h.api.Stored.Get(t.Context(), client.ObjectKeyFromObject(test.parent), &got); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got.Finalizers, test.want) {
				t.Errorf("finalizers %v, want %v", got.Finalizers, test.want)
			}
			if released := len(h.api.Pod(t, "a").OwnerReferences) == 0; released != test.wantReleased {
				t.Errorf("released: %v, want %v", released, test.wantReleased)
			}
		})
	}
}

// Something that puts the reference back again and again must not hold a worker
// for ever.
func TestFinalizeGivesUpAfterSomeRounds(t *testing.T) {
	h := newHarness(t, nil, []client.Object{fixture.Output("a")})
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
