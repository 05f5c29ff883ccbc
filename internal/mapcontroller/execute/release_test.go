// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"context"
	"errors"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/fixture"
)

var podKind = corev1.SchemeGroupVersion.WithKind("Pod")

func withoutKey(o *corev1.Pod) { delete(o.Labels, fixture.Tags.MapKey) }

func TestReleaser(t *testing.T) {
	service := fixture.Owners(metav1.OwnerReference{APIVersion: "v1", Kind: "Service", Name: "p", UID: "p-uid", Controller: new(true)})
	release := []func(*corev1.Pod){withoutKey}
	for name, test := range map[string]struct {
		output []func(*corev1.Pod)
		parent *appsv1.Deployment
		fail   string
		want   bool
		// wantErr is set where it must be tried again.
		wantErr bool
	}{
		// The cache knows no parent in this test: only the API server is asked.
		"without a map key":                {output: release, parent: fixture.Parent(), want: true},
		"with a map key":                   {parent: fixture.Parent()},
		"controlled by another kind":       {output: append(release, service), parent: fixture.Parent()},
		"controlled by nothing":            {output: append(release, fixture.Orphan), parent: fixture.Parent()},
		"the parent is gone":               {output: release},
		"the parent was created again":     {output: release, parent: fixture.Parent(func(p *appsv1.Deployment) { p.UID = "new" })},
		"the parent is being deleted":      {output: release, parent: fixture.Parent(fixture.Deleting)},
		"the parent cannot be read":        {output: release, parent: fixture.Parent(), fail: "get", wantErr: true},
		"the release is denied":            {output: release, parent: fixture.Parent(), fail: "patch", wantErr: true},
		"the output is not there any more": {output: append(release, func(o *corev1.Pod) { o.Name = "other" }), parent: fixture.Parent()},
	} {
		t.Run(name, func(t *testing.T) {
			o := fixture.Output("a", test.output...)
			stored := []client.Object{o}
			if test.parent != nil {
				stored = append(stored, test.parent)
			}
			h := newHarness(t, nil, stored)
			h.api.Fail(errTest, test.fail)
			for _, req := range []Release{
				{Kind: podKind, Name: types.NamespacedName{Namespace: "ns", Name: "a"}},
				// The same for all outputs that have no map key, of all namespaces.
				{Kind: podKind},
			} {
				if req.Name.Name == "" && o.Name == "other" {
					continue
				}
				_, err := Releaser{h.Executor}.Reconcile(t.Context(), req)
				if (err != nil) != test.wantErr {
					t.Errorf("%v: error %v", req, err)
				}
				want := len(o.OwnerReferences)
				if test.want {
					want = 0
				}
				if got := h.api.Pod(t, o.Name).OwnerReferences; len(got) != want {
					t.Errorf("%v: owners %v, want %d", req, got, want)
				}
			}
		})
	}
}

// One output that cannot be released stops no other.
func TestReleaserReleasesAllOfANamespace(t *testing.T) {
	elsewhere := func(o *corev1.Pod) { o.Namespace = "other" }
	all := []client.Object{
		fixture.Parent(), fixture.Output("a", withoutKey), fixture.Output("b", withoutKey), fixture.Output("c"),
		fixture.Output("d", withoutKey, elsewhere),
	}
	h := newHarness(t, nil, all)
	h.api.Before = func(_ context.Context, verb string, o runtime.Object) error {
		if verb == "patch" && o.(client.Object).GetName() == "a" {
			return errTest
		}
		return nil
	}
	req := Release{Kind: podKind, Name: types.NamespacedName{Namespace: "ns"}}
	if _, err := (Releaser{h.Executor}).Reconcile(t.Context(), req); !errors.Is(err, errTest) {
		t.Errorf("got %v", err)
	}
	if a, b, c := h.api.Pod(t, "a"), h.api.Pod(t, "b"), h.api.Pod(t, "c"); len(a.OwnerReferences) != 1 || len(b.OwnerReferences) != 0 || len(c.OwnerReferences) != 1 {
		t.Errorf("owners: %v, %v, %v", a.OwnerReferences, b.OwnerReferences, c.OwnerReferences)
	}
	if h.api.Count("patch") != 2 {
		t.Errorf("%d patches", h.api.Count("patch"))
	}
}

func TestMayBeReleased(t *testing.T) {
	for name, test := range map[string]struct {
		output *corev1.Pod
		want   bool
	}{
		"owned":         {output: fixture.Output("a"), want: true},
		"being deleted": {output: fixture.Output("a", fixture.Deleting)},
		"an orphan":     {output: fixture.Output("a", fixture.Orphan)},
	} {
		t.Run(name, func(t *testing.T) {
			r := Releaser{newHarness(t, nil, nil).Executor}
			if got := r.MayBeReleased(test.output); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
			if want := (Release{Kind: podKind, Name: types.NamespacedName{Namespace: "ns", Name: "a"}}); r.ReleaseOf(test.output) != want {
				t.Errorf("got %v", r.ReleaseOf(test.output))
			}
		})
	}
}

// What is not released is left to the garbage collector. A list that finds no
// such kind is believed only if discovery says so as well.
func TestReleaseAllDoesNotTrustNotFound(t *testing.T) {
	notFound := apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, "")
	for name, missing := range map[string]bool{"the kind is installed": false, "it is not": true} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, nil, nil)
			h.api.Fail(notFound, "list")
			err := h.ReleaseAll(t.Context(), fixture.Parent(), func(context.Context, error) bool { return missing })
			if (err == nil) != missing {
				t.Errorf("got %v", err)
			}
		})
	}
}

// A key may be reconciled while the outputs are released.
func TestReleaseAllListsUntilNothingIsOwned(t *testing.T) {
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
	if err := h.ReleaseAll(t.Context(), fixture.Parent(), nil); err != nil {
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

func TestFinalizer(t *testing.T) {
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
			f := &Finalizer{
				Executor: h.Executor, Name: name, Orphan: func(client.Object) bool { return test.orphan },
				Missing: func(context.Context, error) bool { return false },
			}
			before := test.parent.DeepCopy()
			if err := f.Reconcile(t.Context(), test.parent); (err != nil) != test.wantErr {
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
