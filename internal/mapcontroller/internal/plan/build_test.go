// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/fixture"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/plan"
)

// actions returns the writes of a plan.
func actions(p plan.Plan) []string {
	var all []string
	add := func(verb string, objects ...client.Object) {
		for _, o := range objects {
			all = append(all, verb+" "+o.GetName())
		}
	}
	for _, want := range p.Create {
		add("create", want.Object)
	}
	for _, c := range p.Collisions {
		add("collision", c.Desired)
	}
	for _, u := range p.Update {
		add("update", u.Changed)
	}
	add("adopt", p.Adopt...)
	add("release", p.Release...)
	for _, d := range p.Delete {
		add("delete "+d.Reason, d.Object)
	}
	if p.Withheld {
		all = append(all, "withheld")
	}
	return all
}

// pod returns a desired Pod on a node.
func pod(name, node string) client.Object {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{NodeName: node}}
}

func onNode(node string) func(*corev1.Pod) { return func(o *corev1.Pod) { o.Spec.NodeName = node } }

// Services are updated in place: their clusterIP follows the desired one. One named theirs is never adopted.
var services = plan.Output{
	Object: &corev1.Service{}, Resource: "services",
	Update: func(observed, desired client.Object) {
		observed.(*corev1.Service).Spec.ClusterIP = desired.(*corev1.Service).Spec.ClusterIP
	},
	Adoptable: func(parent, orphan client.Object) bool {
		return parent.GetName() == "p" && orphan.GetName() != "theirs"
	},
}

func orphaned(s *corev1.Service) { s.OwnerReferences = nil }

func service(name, ip string) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.ServiceSpec{ClusterIP: ip}}
}

func ownedService(name, ip string, changes ...func(*corev1.Service)) *corev1.Service {
	s := &corev1.Service{ObjectMeta: fixture.Output(name).ObjectMeta, Spec: corev1.ServiceSpec{ClusterIP: ip}}
	for _, change := range changes {
		change(s)
	}
	return s
}

func TestBuild(t *testing.T) {
	a, b := fixture.Output("a"), fixture.Output("b")
	deleting := fixture.Output("a", fixture.Deleting[*corev1.Pod])
	orphan := fixture.Output("orphan", fixture.Orphan)
	misnamed := fixture.Output("misnamed", fixture.Label(fixture.Tags.Parent, "q"))
	foreign := fixture.Output("foreign", fixture.Owners(fixture.OwnedBy("p", "q-uid")))
	ensure := func(objects ...client.Object) (d plan.Decision) {
		for _, o := range objects {
			d.Ensure = append(d.Ensure, plan.Desired{Object: o})
		}
		return d
	}
	remove := func(objects ...client.Object) plan.Decision {
		return plan.Decision{Delete: fixture.DeleteAllBut(objects)}
	}
	both := func(want, unwanted client.Object) plan.Decision {
		return plan.Decision{Ensure: []plan.Desired{{Object: want}}, Delete: fixture.DeleteAllBut([]client.Object{unwanted})}
	}
	elsewhere := pod("b", "")
	elsewhere.SetNamespace("other")

	for name, test := range map[string]struct {
		invalid  bool
		emptyKey bool
		detached bool
		byLabels bool
		outputs  []client.Object
		// decision is that of Map, or of Tombstone for a detached key.
		decision    plan.Decision
		noTombstone bool
		want        []string
		wantErr     string
	}{
		"nothing":                                     {},
		"creates what is missing":                     {outputs: []client.Object{a}, decision: ensure(pod("a", ""), pod("b", "")), want: []string{"create b"}},
		"keeps what is as observed":                   {outputs: []client.Object{a}, decision: ensure(a)},
		"keeps what the decision does not mention":    {outputs: []client.Object{a, b}},
		"tells kinds of the same name apart":          {outputs: []client.Object{a}, decision: both(service("a", ""), a), want: []string{"create a", "delete Test a"}},
		"deletes with the reason":                     {outputs: []client.Object{a, b}, decision: remove(a), want: []string{"delete Test a"}},
		"deletes what was made anew from its name":    {outputs: []client.Object{a}, decision: remove(fixture.Output("a")), want: []string{"delete Test a"}},
		"does not delete what is being deleted":       {outputs: []client.Object{deleting}, decision: remove(deleting)},
		"does not create what is being deleted":       {outputs: []client.Object{deleting}, decision: ensure(pod("a", ""))},
		"nor what differs, and says so":               {outputs: []client.Object{deleting}, decision: ensure(pod("a", "other")), want: []string{"collision a"}},
		"refuses a delete of what was not observed":   {outputs: []client.Object{a}, decision: remove(b, a), want: []string{"delete Test a"}, wantErr: "b is to be deleted, and was not observed"},
		"refuses a delete of what is not owned":       {outputs: []client.Object{a, foreign}, decision: remove(foreign), wantErr: "was not observed"},
		"refuses a delete of what is released":        {outputs: []client.Object{misnamed}, decision: remove(misnamed), want: []string{"release misnamed"}, wantErr: "was not observed"},
		"refuses a delete of what is desired":         {outputs: []client.Object{a, b}, decision: both(a, a), wantErr: "both desired and to be deleted"},
		"refuses a delete of what is desired anew":    {outputs: []client.Object{a, b}, decision: both(pod("a", ""), a), wantErr: "both desired and to be deleted"},
		"refuses deletes on evidence not observed":    {outputs: []client.Object{a}, decision: plan.Decision{Delete: fixture.DeleteAllBut([]client.Object{a}), Evidence: []client.Object{b}}, wantErr: "b is evidence, and was not observed"},
		"nor deletes what differs, and says so":       {outputs: []client.Object{a}, decision: both(pod("a", "x"), a), want: []string{"collision a"}, wantErr: "both desired and to be deleted"},
		"reports a difference and keeps the rest":     {outputs: []client.Object{a}, decision: ensure(pod("a", "x"), pod("b", "")), want: []string{"create b", "collision a"}},
		"does not compare what is left empty":         {outputs: []client.Object{fixture.Output("a", onNode("x"))}, decision: ensure(pod("a", ""))},
		"updates by the kind's function":              {outputs: []client.Object{ownedService("s", "1")}, decision: ensure(service("s", "2")), want: []string{"update s"}},
		"does not update what is as desired":          {outputs: []client.Object{ownedService("s", "1")}, decision: ensure(service("s", "1"))},
		"does not update what is being deleted":       {outputs: []client.Object{ownedService("s", "1", fixture.Deleting[*corev1.Service])}, decision: ensure(service("s", "2"))},
		"refuses an output of another namespace":      {decision: ensure(elsewhere, pod("c", "")), want: []string{"create c"}, wantErr: "is in namespace other"},
		"refuses an output of an unknown kind":        {decision: ensure(fixture.Input(), pod("c", "")), want: []string{"create c"}, wantErr: "of no output kind"},
		"adopts":                                      {outputs: []client.Object{orphan}, want: []string{"adopt orphan"}},
		"adopts what its kind lets it adopt":          {outputs: []client.Object{ownedService("s", "1", orphaned), ownedService("theirs", "1", orphaned)}, want: []string{"adopt s"}},
		"does not update what it is about to adopt":   {outputs: []client.Object{ownedService("s", "1", orphaned)}, decision: ensure(service("s", "2")), want: []string{"adopt s"}},
		"deletes nothing in a plan that adopts":       {outputs: []client.Object{a, orphan}, decision: remove(a), want: []string{"adopt orphan", "withheld"}},
		"creates in a plan that adopts":               {outputs: []client.Object{orphan}, decision: ensure(pod("c", "")), want: []string{"create c", "adopt orphan"}},
		"releases":                                    {outputs: []client.Object{misnamed, a}, decision: ensure(a), want: []string{"release misnamed"}},
		"invalid spec: releases only":                 {invalid: true, outputs: []client.Object{a, misnamed, orphan}, decision: both(pod("c", ""), a), want: []string{"release misnamed"}},
		"empty key: releases only":                    {emptyKey: true, outputs: []client.Object{fixture.Output("a", fixture.Label(fixture.Tags.MapKey, "")), orphan}, decision: ensure(b), want: []string{"release a"}},
		"tombstone deletes":                           {detached: true, outputs: []client.Object{a, b}, decision: remove(a), want: []string{"delete Test a"}},
		"tombstone keeps":                             {detached: true, outputs: []client.Object{a}, decision: ensure(a)},
		"tombstone updates":                           {detached: true, outputs: []client.Object{ownedService("s", "1")}, decision: ensure(service("s", "2")), want: []string{"update s"}},
		"tombstone cannot create":                     {detached: true, outputs: []client.Object{a}, decision: both(pod("c", ""), a), want: []string{"delete Test a"}, wantErr: "would create c"},
		"no tombstone: deletes detached outputs":      {detached: true, noTombstone: true, outputs: []client.Object{a, b}, want: []string{"delete Detached a", "delete Detached b"}},
		"no tombstone: adopts before it deletes":      {detached: true, noTombstone: true, outputs: []client.Object{a, orphan}, want: []string{"adopt orphan", "withheld"}},
		"no tombstone: leaves what is being deleted":  {detached: true, noTombstone: true, outputs: []client.Object{deleting}},
		"no tombstone: leaves what is not the parent": {detached: true, noTombstone: true, outputs: []client.Object{foreign}},
		"by labels: an orphan is owned":               {byLabels: true, outputs: []client.Object{orphan}, decision: both(pod("c", ""), orphan), want: []string{"create c", "delete Test orphan"}},
		"by labels: removes its reference":            {byLabels: true, outputs: []client.Object{a, misnamed, orphan, foreign}, decision: ensure(a), want: []string{"release a", "release misnamed"}},
		"by labels: releases before it deletes":       {byLabels: true, outputs: []client.Object{a, orphan}, decision: remove(a, orphan), want: []string{"release a", "delete Test orphan", "withheld"}},
		"by labels: not what is not owned":            {byLabels: true, outputs: []client.Object{misnamed}, decision: remove(misnamed), want: []string{"release misnamed"}, wantErr: "was not observed"},
		"by labels: invalid spec":                     {byLabels: true, invalid: true, outputs: []client.Object{a, orphan}, decision: remove(orphan), want: []string{"release a"}},
		"by labels: tombstone":                        {byLabels: true, detached: true, outputs: []client.Object{a, orphan}, decision: remove(orphan), want: []string{"release a", "delete Test orphan"}},
	} {
		t.Run(name, func(t *testing.T) {
			kinds := fixture.Kinds(t, fixture.Outputs()[0], services)
			kinds.Ownership.OwnsByLabels = func(client.Object) bool { return test.byLabels }
			decide := func(plan.Observation) plan.Decision { return test.decision }
			parent := plan.Parent{Object: fixture.Parent(), Program: &plan.Program{Map: decide, Tombstone: decide}}
			if test.noTombstone {
				parent.Program.Tombstone = nil
			}
			if test.invalid {
				parent = plan.Parent{Object: fixture.Parent(), Invalid: errors.New("invalid")}
			}
			seen := plan.Observation{Outputs: test.outputs}
			if !test.detached {
				seen.Selected = []client.Object{fixture.Input()}
			}
			req := fixture.Request
			if test.emptyKey {
				req.MapKey = ""
			}
			got := kinds.Build(parent, req, seen)
			if !slices.Equal(actions(got), test.want) {
				t.Errorf("got %q, want %q", actions(got), test.want)
			}
			if (got.Err != nil) != (test.wantErr != "") || (got.Err != nil && !strings.Contains(got.Err.Error(), test.wantErr)) {
				t.Errorf("got error %v, want %q", got.Err, test.wantErr)
			}
		})
	}
}

// Contract: MAP-3.
func TestBuildTagsOutputs(t *testing.T) {
	parent := fixture.Parent()
	// What Map returns may share maps with the cache.
	labels := map[string]string{"app": "a"}
	want := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "out", Labels: labels}}
	program := &plan.Program{Map: func(plan.Observation) plan.Decision { return plan.Decision{Ensure: []plan.Desired{{Object: want}}} }}
	seen := plan.Observation{Selected: []client.Object{fixture.Input()}}
	build := func(parent client.Object) client.Object {
		return fixture.Kinds(t).Build(plan.Parent{Object: parent, Program: program}, fixture.Request, seen).Create[0].Object
	}

	got := build(parent)
	if wantLabels := map[string]string{"app": "a", "test/key": "in-uid", "test/parent": "p"}; !reflect.DeepEqual(got.GetLabels(), wantLabels) {
		t.Errorf("labels: %v", got.GetLabels())
	}
	ref := metav1.GetControllerOf(got)
	if ref == nil || ref.UID != "p-uid" || ref.APIVersion != "apps/v1" || ref.Kind != "Deployment" || !*ref.BlockOwnerDeletion {
		t.Errorf("controllerRef: %v", ref)
	}
	if got.GetNamespace() != "ns" {
		t.Errorf("namespace: %s", got.GetNamespace())
	}
	if len(labels) != 1 || want.Namespace != "" || want.OwnerReferences != nil {
		t.Errorf("what Map returned was changed: %v", want.ObjectMeta)
	}

	// Those of a parent that owns by labels have no owner.
	kinds := fixture.Kinds(t)
	kinds.Ownership.OwnsByLabels = fixture.Always
	want.OwnerReferences = []metav1.OwnerReference{fixture.OwnedBy("p", "p-uid")}
	byLabels := kinds.Build(plan.Parent{Object: parent, Program: program}, fixture.Request, seen).Create[0].Object
	if len(byLabels.GetOwnerReferences()) > 0 || byLabels.GetLabels()["test/parent"] != "p" || byLabels.GetLabels()["test/key"] != "in-uid" {
		t.Errorf("by labels: owners %v, labels %v", byLabels.GetOwnerReferences(), byLabels.GetLabels())
	}
	want.OwnerReferences = nil

	// A cluster-scoped parent's outputs stay in the namespace that Map names.
	want.Namespace = "other"
	if got := build(fixture.Parent(func(p *appsv1.Deployment) { p.Namespace = "" })); got.GetNamespace() != "other" {
		t.Errorf("namespace: %s", got.GetNamespace())
	}
}

func TestBuildPassesOnTheDecision(t *testing.T) {
	age := func(age time.Duration) func(*corev1.Pod) {
		return func(o *corev1.Pod) { o.CreationTimestamp = metav1.NewTime(fixture.Now.Add(-age)) }
	}
	a, orphan := fixture.Output("a", age(time.Minute)), fixture.Output("orphan", fixture.Orphan, age(time.Hour))
	released := fixture.Output("released", fixture.Label(fixture.Tags.Parent, "q"))
	foreign := fixture.Output("foreign", fixture.Owners(fixture.OwnedBy("q", "q-uid")))
	next := fixture.Now.Add(time.Hour)
	var seen plan.Observation
	program := &plan.Program{Map: func(o plan.Observation) plan.Decision {
		seen = o
		return plan.Decision{Evidence: []client.Object{a}, Next: next, Status: "status"}
	}}
	parent := plan.Parent{Object: fixture.Parent(func(p *appsv1.Deployment) { p.Generation = 7 }), Program: program}
	got := fixture.Kinds(t).Build(parent, fixture.Request, plan.Observation{
		Now: fixture.Now, Selected: []client.Object{fixture.Input()}, Outputs: []client.Object{a, foreign, released, orphan},
	})
	if want := []client.Object{orphan, a}; !slices.Equal(seen.Outputs, want) {
		t.Errorf("Map sees %v, want the oldest first of its own and adoptable", fixture.Names(seen.Outputs))
	}
	if got.Next != next || len(got.Evidence) != 1 || got.Key.Generation != 7 || got.Key.Status != "status" || !seen.Now.Equal(fixture.Now) {
		t.Errorf("got %+v", got)
	}
}

// What a decision keeps of the outputs that it was given, and appends to, is its own.
func TestBuildWritesIntoNoSliceOfADecision(t *testing.T) {
	a := fixture.Output("a")
	released := fixture.Output("released", fixture.Label(fixture.Tags.Parent, "q"))
	foreign, mine := fixture.Output("foreign", fixture.Owners(fixture.OwnedBy("q", "q-uid"))), fixture.Output("mine")
	var kept []client.Object
	program := &plan.Program{Map: func(o plan.Observation) plan.Decision {
		kept = append(o.Outputs, mine)
		return plan.Decision{}
	}}
	fixture.Kinds(t).Build(plan.Parent{Object: fixture.Parent(), Program: program}, fixture.Request, plan.Observation{
		Now: fixture.Now, Selected: []client.Object{fixture.Input()}, Outputs: []client.Object{a, foreign, released},
	})
	if last := kept[len(kept)-1]; last != client.Object(mine) {
		t.Errorf("the decision has kept %s", last.GetName())
	}
}

// A key has not reached a generation that owns by labels while an output has a
// reference.
// A decision that panics decides nothing about the outputs, and the key counts all the same.
func TestBuildRecoversFromADecisionThatPanics(t *testing.T) {
	panics := func(plan.Observation) plan.Decision { panic("odd input") }
	for name, test := range map[string]struct {
		program  *plan.Program
		selected []client.Object
	}{
		"Map":       {&plan.Program{Map: panics}, []client.Object{fixture.Input()}},
		"Tombstone": {&plan.Program{Map: panics, Tombstone: panics}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			kinds := fixture.Kinds(t)
			got := kinds.Build(plan.Parent{Object: fixture.Parent(), Program: test.program}, fixture.Request, plan.Observation{
				Now: fixture.Now, Selected: test.selected, Outputs: []client.Object{fixture.Output("a")},
			})
			panicked := (*plan.PanicError)(nil)
			if !errors.As(got.Err, &panicked) || !strings.Contains(got.Err.Error(), "odd input") || !strings.Contains(string(panicked.Stack), "build_test.go") {
				t.Errorf("got error %v", got.Err)
			}
			if all, counts := actions(got), kinds.Counts(&got, nil); len(all) > 0 || len(counts) == 0 {
				t.Errorf("actions %v, counts %v", all, counts)
			}
		})
	}
}

func TestBuildCountsReferences(t *testing.T) {
	orphan := fixture.Output("orphan", fixture.Orphan)
	for name, test := range map[string]struct {
		byLabels, invalid bool
		outputs           []client.Object
		want              bool
	}{
		"by reference":           {outputs: []client.Object{fixture.Output("a")}},
		"by reference, released": {outputs: []client.Object{fixture.Output("a", fixture.Label(fixture.Tags.Parent, "q"))}},
		"by labels, none left":   {byLabels: true, outputs: []client.Object{orphan}},
		"by labels, one left":    {byLabels: true, outputs: []client.Object{orphan, fixture.Output("a")}, want: true},
		"and the spec invalid":   {byLabels: true, invalid: true, outputs: []client.Object{fixture.Output("a")}, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			kinds, program := fixture.Kinds(t), fixture.Program()
			kinds.Ownership.OwnsByLabels = func(client.Object) bool { return test.byLabels }
			parent := plan.Parent{Object: fixture.Parent(func(p *appsv1.Deployment) { p.Generation = 7 }), Program: &program}
			if test.invalid {
				parent.Program, parent.Invalid = nil, errors.New("invalid")
			}
			seen := plan.Observation{Selected: []client.Object{fixture.Input()}, Outputs: test.outputs}
			if got := kinds.Build(parent, fixture.Request, seen); got.Referred != test.want || got.Key.Generation != 7 {
				t.Errorf("got %v under generation %d, want %v", got.Referred, got.Key.Generation, test.want)
			}
		})
	}
}

// Two unstructured kinds have one Go type.
func TestBuildTellsUnstructuredKindsApart(t *testing.T) {
	object := func(kind, name string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "example.com/v1", "kind": kind, "metadata": map[string]any{"name": name},
		}}
	}
	red, blue := object("Red", "x"), object("Blue", "x")
	for _, o := range []*unstructured.Unstructured{red, blue} {
		o.SetNamespace("ns")
		o.SetLabels(fixture.Output("x").Labels)
		o.SetOwnerReferences(fixture.Output("x").OwnerReferences)
	}
	kinds, err := plan.NewKinds(clientgoscheme.Scheme, &appsv1.Deployment{}, plan.Ownership{Tags: fixture.Tags},
		[]plan.Input{{Object: &corev1.Secret{}, Resource: "secrets"}},
		[]plan.Output{{Object: object("Red", ""), Resource: "reds"}, {Object: object("Blue", ""), Resource: "blues"}})
	if err != nil {
		t.Fatal(err)
	}
	program := &plan.Program{Map: func(plan.Observation) plan.Decision {
		return plan.Decision{Ensure: []plan.Desired{{Object: object("Blue", "x")}}, Delete: fixture.DeleteAllBut([]client.Object{red})}
	}}
	parent := plan.Parent{Object: fixture.Parent(), Program: program}
	got := kinds.Build(parent, fixture.Request, plan.Observation{
		Selected: []client.Object{fixture.Input()}, Outputs: []client.Object{blue, red},
	})
	if want := []string{"delete Test x"}; got.Err != nil || !slices.Equal(actions(got), want) || got.Delete[0].Object != client.Object(red) {
		t.Errorf("got %q, %v", actions(got), got.Err)
	}
	if kind := kinds.Output(blue); kind == nil || kind.Resource != "blues" {
		t.Errorf("got %v", kind)
	}
	if empty := plan.EmptyLike(blue); kinds.Of(empty) != kinds.Of(blue) || empty.GetName() != "" {
		t.Errorf("empty: %v", empty)
	}
	if kinds.Output(object("Green", "x")) != nil {
		t.Error("an unknown kind is known")
	}
}

func TestNewKindsRefusesUnknownKinds(t *testing.T) {
	type unknown struct{ corev1.Pod }
	_, err := plan.NewKinds(clientgoscheme.Scheme, &appsv1.Deployment{}, plan.Ownership{Tags: fixture.Tags}, nil, []plan.Output{{Object: &unknown{}}})
	if err == nil {
		t.Error("no error")
	}
}

func BenchmarkBuild(b *testing.B) {
	for _, n := range []int{40, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			seen := plan.Observation{Selected: []client.Object{fixture.Input()}}
			for i := range n {
				seen.Outputs = append(seen.Outputs, fixture.Output(fmt.Sprint(i)))
			}
			kinds, program := fixture.Kinds(b), fixture.Program()
			program.Map = func(seen plan.Observation) plan.Decision {
				return plan.Decision{Ensure: []plan.Desired{{Object: pod("new", "")}}, Delete: fixture.DeleteAllBut(seen.Outputs[:1])}
			}
			parent := plan.Parent{Object: fixture.Parent(), Program: &program}
			b.ReportAllocs()
			for b.Loop() {
				kinds.Build(parent, fixture.Request, seen)
			}
		})
	}
}
