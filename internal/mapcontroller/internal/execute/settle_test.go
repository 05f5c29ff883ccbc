// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/fixture"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/plan"
)

// The garbage collector deletes outputs with their parent: it must not while one has not settled.
//
// Contract: GRP-10.
func TestReleaseWaitsForOutputsToSettle(t *testing.T) {
	const name = "test/finalizer"
	with := func(p *appsv1.Deployment) { p.Finalizers = append(p.Finalizers, name) }
	deleting := fixture.Deleting[*appsv1.Deployment]
	aged := func(age time.Duration) func(*corev1.Pod) {
		return func(o *corev1.Pod) { o.CreationTimestamp = metav1.NewTime(fixture.Now.Add(-age)) }
	}
	type changes = []func(*appsv1.Deployment)
	for title, test := range map[string]struct {
		changes  changes
		lingers  bool
		byLabels bool
		skew     time.Duration
		outputs  []client.Object
		want     Released
		wantHas  bool
	}{
		"lingers: is added":               {lingers: true, want: Released{All: true, Changed: true}, wantHas: true},
		"lingers: stays":                  {lingers: true, changes: changes{with}, want: Released{All: true}, wantHas: true},
		"does not linger":                 {want: Released{All: true}},
		"no longer: is removed":           {changes: changes{with}, want: Released{All: true, Changed: true}},
		"no longer, one is young":         {changes: changes{with}, outputs: []client.Object{fixture.Output("a", aged(time.Second))}, want: Released{All: true, Again: time.Minute}, wantHas: true},
		"deleting: the youngest":          {lingers: true, changes: changes{deleting, with}, outputs: []client.Object{fixture.Output("a", aged(time.Hour)), fixture.Output("b", aged(20*time.Second))}, want: Released{All: true, Again: 41 * time.Second}, wantHas: true},
		"deleting: all have settled":      {lingers: true, changes: changes{deleting, with}, outputs: []client.Object{fixture.Output("a", aged(time.Hour))}, want: Released{All: true, Changed: true}},
		"deleting: one is another's":      {lingers: true, changes: changes{deleting, with}, outputs: []client.Object{fixture.Output("a", aged(0), fixture.Owners(fixture.OwnedBy("q", "q-uid")))}, want: Released{All: true, Changed: true}},
		"deleting: a clock is wrong":      {lingers: true, changes: changes{deleting, with}, skew: time.Hour, outputs: []client.Object{fixture.Output("a", aged(30*time.Second))}, want: Released{All: true, Again: time.Minute}, wantHas: true},
		"deleting without it":             {lingers: true, changes: changes{deleting}, outputs: []client.Object{fixture.Output("a", aged(0))}, want: Released{All: true}},
		"by labels: nothing goes with it": {lingers: true, byLabels: true, changes: changes{deleting, with}, outputs: []client.Object{fixture.Output("a", aged(0))}, want: Released{All: true, Changed: true}},
	} {
		t.Run(title, func(t *testing.T) {
			parent := fixture.Parent(test.changes...)
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns"}}
			out := fixture.Outputs()[0]
			out.Settles = time.Minute
			h := newHarness(t, nil, append([]client.Object{parent, namespace}, test.outputs...), out)
			h.api.Skew = test.skew
			h.Finalizer, h.Lingers = name, func(client.Object) bool { return test.lingers }
			h.Kinds.Ownership.OwnsByLabels = func(client.Object) bool { return test.byLabels }
			h.Missing = func(error) bool { return false }
			got, err := h.Release(t.Context(), plan.Parent{Object: parent, Read: parent}, func() bool { return true })
			if err != nil || got != test.want {
				t.Fatalf("%+v, %v; want %+v", got, err, test.want)
			}
			var stored appsv1.Deployment
			if err := h.api.Stored.Get(t.Context(), client.ObjectKeyFromObject(parent), &stored); err != nil {
				t.Fatal(err)
			}
			if has := len(stored.Finalizers) > 0 && stored.Finalizers[len(stored.Finalizers)-1] == name || len(stored.Finalizers) > 1; has != test.wantHas {
				t.Errorf("finalizers %v, want it: %v", stored.Finalizers, test.wantHas)
			}
		})
	}
}

// A role of before a kind was known does not let it be listed: that must not hold up parents that
// have no outputs of it, and others no longer than outputs of before their deletion need to settle.
//
// Contract: GRP-10.
func TestReleaseWithoutARoleForAnOptionalKind(t *testing.T) {
	const name = "test/finalizer"
	with := func(p *appsv1.Deployment) { p.Finalizers = append(p.Finalizers, name) }
	for title, test := range map[string]struct {
		optional, makes bool
		later           time.Duration
		want            bool
		waits           time.Duration // where it does not own by labels
	}{
		"of a parent that makes none":          {optional: true, want: true},
		"of one that may have some":            {optional: true, makes: true, waits: 101 * time.Second},
		"of one that has none that is young":   {optional: true, makes: true, later: 102 * time.Second, want: true},
		"a kind that every operator must list": {},
	} {
		t.Run(title, func(t *testing.T) {
			for _, byLabels := range []bool{false, true} {
				parent := fixture.Parent(fixture.Deleting[*appsv1.Deployment], with)
				namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns"}}
				out := fixture.Outputs()[0]
				out.Settles, out.Optional = time.Minute, test.optional
				h := newHarness(t, nil, []client.Object{parent, namespace}, out)
				h.api.Fail(apierrors.NewForbidden(schema.GroupResource{}, "", errTest), "list")
				h.Finalizer, h.Lingers = name, func(client.Object) bool { return test.makes }
				h.Missing = func(error) bool { return false }
				h.Kinds.Ownership.OwnsByLabels = func(client.Object) bool { return byLabels }
				h.env.Clock.SetTime(fixture.Now.Add(test.later))
				got, err := h.Release(t.Context(), plan.Parent{Object: parent, Read: parent}, func() bool { return true })
				want := test.want || test.waits > 0
				if want = want && (!byLabels || !test.makes); (err == nil) != want || !byLabels && got.Again != test.waits {
					t.Errorf("by labels %t: %+v, %v", byLabels, got, err)
				}
			}
		})
	}
}
