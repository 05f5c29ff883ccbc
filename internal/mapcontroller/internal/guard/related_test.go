// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package guard_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/fixture"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/guard"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/plan"
)

func node(allows string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "p", Labels: map[string]string{"allows": allows}}}
}

func configMap(allows string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", Labels: map[string]string{"allows": allows}}}
}

// withRelated has the deletes depend on related objects, of which Nodes are read live.
func withRelated(t *testing.T, stored ...client.Object) *fixture.Env {
	t.Helper()
	objects := []client.Object{fixture.Parent(), fixture.Output("a")}
	e := fixture.New(t, objects, append(slices.Clone(objects), stored...))
	kinds, err := plan.NewKinds(clientgoscheme.Scheme, &appsv1.Deployment{}, plan.Ownership{Tags: fixture.Tags}, e.Kinds.Inputs, e.Kinds.Outputs,
		plan.Input{Object: &corev1.ConfigMap{}}, plan.Input{Object: &corev1.Node{}, Live: true})
	if err != nil || len(kinds.Needed) != 3 || len(kinds.Live) != 1 || kinds.Live[0].Kind != "Node" {
		t.Fatalf("%v, needed are %v, live %v", err, kinds.Needed, kinds.Live)
	}
	*e.Kinds = *kinds
	e.Program.Tombstone = func(seen plan.Observation) plan.Decision {
		for _, o := range seen.Related {
			if o.GetLabels()["allows"] != "deletes" {
				return plan.Decision{}
			}
		}
		return plan.Decision{Delete: fixture.DeleteAllBut(seen.Outputs)}
	}
	return e
}

func confirmWith(t *testing.T, e *fixture.Env, related ...client.Object) (guard.Confirmed, error) {
	t.Helper()
	parent, seen := e.Observe()
	seen.Related = related
	p := e.Kinds.Build(parent, fixture.Request, seen)
	return e.Guard.Confirm(t.Context(), fixture.Request, parent.Object, p, p.Delete, seen)
}

// Contract: GUARD-3.
func TestConfirmReadsWhatConfirmsDeletesLive(t *testing.T) {
	const yes, no = "deletes", "nothing"
	for name, test := range map[string]struct {
		related   []client.Object
		stored    []client.Object
		want      error
		wantReads int
	}{
		"nothing is related":                  {wantReads: 1},
		"it still allows the deletes":         {related: []client.Object{node(yes)}, stored: []client.Object{node(yes)}, wantReads: 2},
		"it no longer does":                   {related: []client.Object{node(yes)}, stored: []client.Object{node(no)}, want: guard.ErrChanged, wantReads: 2},
		"it is gone":                          {related: []client.Object{node(yes)}, wantReads: 2},
		"another kind is read from the cache": {related: []client.Object{configMap(yes)}, stored: []client.Object{configMap(no)}, wantReads: 1},
		"both": {related: []client.Object{configMap(yes), node(yes)}, stored: []client.Object{configMap(yes), node(no)},
			want: guard.ErrChanged, wantReads: 2},
	} {
		t.Run(name, func(t *testing.T) {
			e := withRelated(t, test.stored...)
			if _, err := confirmWith(t, e, test.related...); !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
			if got := e.API.Count("get"); got != test.wantReads {
				t.Errorf("%d reads, want %d", got, test.wantReads)
			}
		})
	}
}

// Contract: GUARD-3.
func TestConfirmNeedsTheReadOfWhatConfirmsDeletes(t *testing.T) {
	e := withRelated(t, node("deletes"))
	failGet[*corev1.Node](e)
	if _, err := confirmWith(t, e, node("deletes")); !errors.Is(err, errUnavailable) {
		t.Errorf("got %v", err)
	}
}

// Contract: GUARD-6.
func TestConfirmSharesRelatedObjectsForThreeSeconds(t *testing.T) {
	e := withRelated(t, node("deletes"))
	for _, step := range []struct {
		after    time.Duration
		reads    int
		wantLeft time.Duration
	}{{0, 2, 5 * time.Second}, {2 * time.Second, 2, 3 * time.Second}, {3 * time.Second, 4, 5 * time.Second}} {
		e.Clock.SetTime(fixture.Now.Add(step.after))
		confirmed, err := confirmWith(t, e, node("deletes"))
		if err != nil || e.API.Count("get") != step.reads || confirmed.Left(e.Clock.Now()) != step.wantLeft {
			t.Errorf("after %s: %v, %d reads, valid for %s", step.after, err, e.API.Count("get"), confirmed.Left(e.Clock.Now()))
		}
	}
}

// What decides about the parent's spec is read live, and the parent is compiled with that.
//
// Contract: GUARD-3.
func TestConfirmCompilesTheParentWithLiveGovernors(t *testing.T) {
	for name, test := range map[string]struct {
		stored    []client.Object
		fails     bool
		want      error
		governors int
	}{
		"it still allows the deletes": {stored: []client.Object{node("deletes")}, governors: 1},
		"it no longer does":           {stored: []client.Object{node("nothing")}, want: guard.ErrChanged, governors: 1},
		"it is gone":                  {},
		"it cannot be read":           {stored: []client.Object{node("deletes")}, fails: true, want: errUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			e := withRelated(t, test.stored...)
			if test.fails {
				failGet[*corev1.Node](e)
			}
			var governors []client.Object
			compile := e.Guard.Compile
			e.Guard.Governors = func(client.Object) []client.Object { return []client.Object{node("deletes")} }
			e.Guard.Compile = func(parent client.Object, by []client.Object) plan.Parent {
				governors = by
				p := *compile(parent, by).Program
				p.Tombstone = func(seen plan.Observation) plan.Decision {
					seen.Related = by
					return e.Program.Tombstone(seen)
				}
				return plan.Parent{Object: parent, Read: parent, Program: &p}
			}
			if _, err := confirmWith(t, e); !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
			if len(governors) != test.governors {
				t.Errorf("compiled with %d governors, want %d", len(governors), test.governors)
			}
		})
	}
}
