// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/informer"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/fixture"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/plan"
)

func withKey(key string) func(*corev1.Pod) { return fixture.Label(fixture.Tags.MapKey, key) }

func input(name string, changes ...func(*corev1.Secret)) *corev1.Secret {
	s := fixture.Input(changes...)
	s.Name, s.UID = name, types.UID(name)
	return s
}

func unselected(s *corev1.Secret) { s.Labels = nil }

func inNamespace(name string) func(*corev1.Pod) { return func(o *corev1.Pod) { o.Namespace = name } }

func newTestObjects(t *testing.T, clusterScoped bool, objects ...client.Object) *Objects {
	t.Helper()
	return newObjectsOf(fixture.Kinds(t), clusterScoped, objects...)
}

func newObjectsOf(kinds *plan.Kinds, clusterScoped bool, objects ...client.Object) *Objects {
	stores := informer.NewStores()
	o := New("test", kinds, &appsv1.Deployment{}, clusterScoped, stores)
	fixture.Fill(stores, o.InputIndexers(), o.OutputIndexers(0), objects...)
	return o
}

func compiled() plan.Parent {
	program := fixture.Program()
	return plan.Parent{Object: fixture.Parent(), Program: &program}
}

// An output whose map key was emptied must not stand for the outputs of all keys:
// a tombstone would decide about them as one series.
func TestOutputsTellsKeysApart(t *testing.T) {
	old := func(o *corev1.Pod) { o.CreationTimestamp = metav1.NewTime(fixture.Now.Add(-time.Hour)) }
	o := newTestObjects(t, false,
		fixture.Output("owned", withKey("a")), fixture.Output("orphan", withKey("a"), fixture.Orphan, old),
		fixture.Output("other", withKey("b")), fixture.Output("emptied", withKey("")),
		fixture.Output("misnamed", withKey("a"), fixture.Label(fixture.Tags.Parent, "q")),
		fixture.Output("misnamed-orphan", withKey("a"), fixture.Label(fixture.Tags.Parent, "q"), fixture.Orphan),
		fixture.Output("foreign", withKey("a"), fixture.Owners(fixture.OwnedBy("q", "q-uid"))),
		fixture.Output("elsewhere", withKey("a"), fixture.Orphan, inNamespace("other")),
	)
	for name, test := range map[string]struct {
		key  string
		want []string
	}{
		"owned and orphans of a key": {key: "a", want: []string{"misnamed", "orphan", "owned"}},
		"another key":                {key: "b", want: []string{"other"}},
		"the empty key":              {key: "", want: []string{"emptied"}},
		"a key without outputs":      {key: "c", want: []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			found := o.Outputs(fixture.Parent(), test.key)
			if got := fixture.Names(found); !slices.Equal(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
			if !slices.IsSortedFunc(found, plan.Older) {
				t.Error("not the oldest first")
			}
		})
	}
}

// An output is found once, by whatever leads to it.
//
// Contract: FLEET-13.
func TestOutputsAreFoundByWhatTheirStatusRecords(t *testing.T) {
	kinds, recorded := fixture.Kinds(t), fixture.RecordOf("p-uid")
	kinds.Ownership.Recorded = fixture.Recorded
	another := fixture.Owners(fixture.OwnedBy("q", "q-uid"))
	all := []client.Object{
		fixture.Output("as-it-was", recorded), fixture.Output("other-key", recorded, withKey("x")), fixture.Output("unlabeled", recorded, fixture.Unlabeled),
		fixture.Output("orphan", recorded, fixture.Orphan), fixture.Output("neither", recorded, fixture.Orphan, fixture.Unlabeled),
		fixture.Output("misnamed", recorded, fixture.Orphan, fixture.Label(fixture.Tags.Parent, "q")),
		fixture.Output("foreign", recorded, another), fixture.Output("of-before", fixture.RecordOf("old-uid"), fixture.Orphan, fixture.Unlabeled),
	}
	o := newObjectsOf(kinds, false, append([]client.Object{fixture.Parent()}, all...)...)
	want := []string{"as-it-was", "misnamed", "neither", "orphan", "other-key", "unlabeled"}
	if got := fixture.Names(o.Outputs(fixture.Parent(), fixture.Request.MapKey)); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for _, output := range all {
		req, owned := o.Request(output)
		if wantReq := output.GetName() != "foreign"; (req == fixture.Request) != wantReq {
			t.Errorf("%s enqueues %v", output.GetName(), req)
		}
		if isOrphan := len(output.GetOwnerReferences()) == 0; owned == isOrphan {
			t.Errorf("%s is owned: %v", output.GetName(), owned)
		}
	}
	if keys := o.MapKeys(compiled()); len(keys) != len(want) || slices.ContainsFunc(keys, func(key string) bool { return key != fixture.Request.MapKey }) {
		t.Errorf("keys %v", keys)
	}
}

// A key stands for all inputs that carry it.
func TestInputs(t *testing.T) {
	shared := func(s *corev1.Secret) { s.UID = "shared" }
	a, b, c := input("a"), input("b", unselected), input("c")
	for _, s := range []*corev1.Secret{a, b, c} {
		shared(s)
	}
	c.OwnerReferences = []metav1.OwnerReference{fixture.OwnedBy("p", "p-uid")}
	elsewhere := input("elsewhere")
	elsewhere.Namespace = "other"
	shared(elsewhere)
	o := newTestObjects(t, false, a, b, c, elsewhere, input("other"))
	selected, rest := o.Inputs(compiled(), "shared", nil)
	if got := fixture.Names(selected); !slices.Equal(got, []string{"a"}) {
		t.Errorf("selected %v", got)
	}
	// An input that the parent controls is not selected: its outputs would be
	// mapped without end.
	if got := fixture.Names(rest); !slices.Equal(got, []string{"b", "c"}) {
		t.Errorf("unselected %v", got)
	}
	if selected, rest := o.Inputs(compiled(), "unknown", nil); len(selected)+len(rest) > 0 {
		t.Errorf("got %v and %v", selected, rest)
	}
}

func TestKeys(t *testing.T) {
	o := newTestObjects(t, false,
		input("a"), input("b"), input("c", unselected),
		fixture.Output("1", withKey("detached")), fixture.Output("2", withKey("orphaned"), fixture.Orphan), fixture.Output("3", withKey("")),
		fixture.Output("4", withKey("foreign"), fixture.Owners(fixture.OwnedBy("q", "q-uid"))),
	)
	for name, test := range map[string]struct {
		parent plan.Parent
		want   []string
	}{
		"of inputs and outputs":        {compiled(), []string{"", "a", "b", "detached", "orphaned"}},
		"of outputs of an invalid one": {plan.Parent{Object: fixture.Parent(), Invalid: errors.New("invalid")}, []string{"", "detached", "orphaned"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := o.MapKeys(test.parent)
			slices.Sort(got)
			if !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// The inputs and outputs of a cluster-scoped parent are in any namespace.
func TestClusterScopedParents(t *testing.T) {
	parent := compiled()
	parent.Object.SetNamespace("")
	elsewhere := input("a")
	elsewhere.Namespace = "other"
	o := newTestObjects(t, true, parent.Object, elsewhere,
		fixture.Output("1", withKey("a")), fixture.Output("2", withKey("a"), inNamespace("other")),
		fixture.Output("3", withKey("a"), fixture.Orphan, inNamespace("third")))
	if got := fixture.Names(o.Outputs(parent.Object, "a")); !slices.Equal(got, []string{"1", "2", "3"}) {
		t.Errorf("outputs %v", got)
	}
	if selected, _ := o.Inputs(parent, "a", nil); len(selected) != 1 {
		t.Errorf("inputs %v", selected)
	}
	if got := o.Parents(elsewhere); len(got) != 1 {
		t.Errorf("parents %v", got)
	}
	if got := o.Scope(fixture.Output("1")); got != "" || o.Parent(types.NamespacedName{Namespace: got, Name: "p"}) == nil {
		t.Errorf("scope %q", got)
	}
}

func TestRequestOf(t *testing.T) {
	ref := func(apiVersion, kind string) func(*corev1.Pod) {
		r := fixture.OwnedBy("q", "q-uid")
		r.APIVersion, r.Kind = apiVersion, kind
		return fixture.Owners(r)
	}
	for name, test := range map[string]struct {
		change    func(*corev1.Pod)
		want      string
		wantOwned bool
	}{
		"controlled by a parent":                   {change: ref("apps/v1", "Deployment"), want: "q/in-uid", wantOwned: true},
		"controlled by one of another version":     {change: ref("apps/v2", "Deployment"), want: "q/in-uid", wantOwned: true},
		"an orphan that names a parent":            {change: fixture.Orphan, want: "p/in-uid"},
		"controlled by another kind":               {change: ref("v1", "Service"), want: "/"},
		"controlled by a kind of another group":    {change: ref("example.com/v1", "Deployment"), want: "/"},
		"controlled by an apiVersion that is none": {change: ref("a/b/c", "Deployment"), want: "/"},
		"an orphan that names nothing":             {change: func(o *corev1.Pod) { o.OwnerReferences, o.Labels = nil, nil }, want: "/"},
		"owned, without a map key":                 {change: func(o *corev1.Pod) { delete(o.Labels, fixture.Tags.MapKey) }, want: "p/", wantOwned: true},
		"owned, names another parent":              {change: fixture.Label(fixture.Tags.Parent, "q"), want: "p/in-uid", wantOwned: true},
		"an owner that is not the controller":      {change: func(o *corev1.Pod) { o.OwnerReferences[0].Controller = nil }, want: "p/in-uid"},
	} {
		t.Run(name, func(t *testing.T) {
			req, owned := newTestObjects(t, false).Request(fixture.Output("o", test.change))
			if got := req.Parent.Name + "/" + req.MapKey; got != test.want || owned != test.wantOwned {
				t.Errorf("got %s, owned %v; want %s, %v", got, owned, test.want, test.wantOwned)
			}
		})
	}
}

// What carries both labels and no controller is owned by a parent that owns by labels.
func TestRequestOfByLabels(t *testing.T) {
	other := func(o *corev1.Pod) { o.OwnerReferences[0].Kind = "Service" }
	for name, test := range map[string]struct {
		change    func(*corev1.Pod)
		wantOwned bool
	}{
		"with both labels":         {change: fixture.Orphan, wantOwned: true},
		"with a controller":        {change: func(*corev1.Pod) {}, wantOwned: true},
		"of another kind":          {change: other},
		"names no parent":          {change: func(o *corev1.Pod) { fixture.Orphan(o); delete(o.Labels, fixture.Tags.Parent) }},
		"names another parent":     {change: func(o *corev1.Pod) { fixture.Orphan(o); o.Labels[fixture.Tags.Parent] = "q" }},
		"has no map key":           {change: func(o *corev1.Pod) { fixture.Orphan(o); delete(o.Labels, fixture.Tags.MapKey) }},
		"has an empty map key":     {change: func(o *corev1.Pod) { fixture.Orphan(o); o.Labels[fixture.Tags.MapKey] = "" }},
		"is in another namespace":  {change: func(o *corev1.Pod) { fixture.Orphan(o); o.Namespace = "other" }},
		"not being the controller": {change: func(o *corev1.Pod) { o.OwnerReferences[0].Controller = nil }, wantOwned: true},
		"foreign":                  {change: func(o *corev1.Pod) { fixture.Orphan(o); fixture.Foreign(o) }},
	} {
		t.Run(name, func(t *testing.T) {
			kinds := fixture.Kinds(t)
			kinds.Ownership.OwnsByLabels, kinds.Ownership.Foreign = fixture.Always, fixture.IsForeign
			if _, owned := newObjectsOf(kinds, false, fixture.Parent()).Request(fixture.Output("o", test.change)); owned != test.wantOwned {
				t.Errorf("owned %v", owned)
			}
		})
	}
}

// Outputs of other keys matter where they were made from the same inputs.
func TestElsewhereIsWhatOtherKeysHaveOfTheSameInputs(t *testing.T) {
	from := func(sources string) func(*corev1.Pod) {
		return func(o *corev1.Pod) { o.Annotations = map[string]string{"sources": sources} }
	}
	kinds := fixture.Kinds(t, plan.Output{Object: &corev1.Pod{}, Resource: "pods", Sources: func(o client.Object) []string {
		return strings.Fields(o.GetAnnotations()["sources"])
	}})
	here := fixture.Output("here", withKey("g"), from("in-1 gone"))
	o := newObjectsOf(kinds, false, here,
		fixture.Output("same", withKey("h"), from("in-1 other")), fixture.Output("of-what-is-gone", withKey("h"), from("gone")),
		fixture.Output("of-the-selected", withKey("h"), from("in-2")), fixture.Output("unrelated", withKey("h"), from("other")),
		fixture.Output("untagged", withKey(""), from("in-1")), fixture.Output("foreign", withKey("h"), from("in-1"), fixture.Owners(fixture.OwnedBy("q", "q-uid"))),
		fixture.Output("elsewhere", withKey("h"), from("in-1"), inNamespace("other")),
	)
	parent, selected := compiled(), []client.Object{input("in-2")}
	for name, test := range map[string]struct {
		key  func(client.Object) string
		want []string
	}{
		"a program with keys of its own": {func(client.Object) string { return "g" }, []string{"of-the-selected", "of-what-is-gone", "same"}},
		"one without":                    {nil, []string{"of-what-is-gone", "same"}},
	} {
		t.Run(name, func(t *testing.T) {
			parent.Program.Key = test.key
			if got := fixture.Names(o.Elsewhere(parent, "g", selected, kinds.Sources([]client.Object{here}))); !slices.Equal(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}
