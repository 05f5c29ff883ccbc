// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package mapcontroller

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestDiff(t *testing.T) {
	a, b := testOutput("a"), testOutput("b")
	going := testOutput("a", func(o *corev1.Pod) { o.DeletionTimestamp = &metav1.Time{Time: testNow} })
	sameName := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "a"}}

	for name, test := range map[string]struct {
		observed, desired                  []client.Object
		wantCreate, wantUpdate, wantDelete []string
	}{
		"nothing":                        {},
		"kept as it is":                  {observed: []client.Object{a}, desired: []client.Object{a}},
		"new":                            {desired: []client.Object{a, b}, wantCreate: []string{"a", "b"}},
		"made anew under its name":       {observed: []client.Object{a}, desired: []client.Object{testOutput("a")}, wantUpdate: []string{"a"}},
		"not desired":                    {observed: []client.Object{a, b}, desired: []client.Object{b}, wantDelete: []string{"a"}},
		"another kind of the same name":  {observed: []client.Object{a}, desired: []client.Object{sameName}, wantCreate: []string{"a"}, wantDelete: []string{"a"}},
		"going, and not desired":         {observed: []client.Object{going}},
		"going, and desired as observed": {observed: []client.Object{going}, desired: []client.Object{going}},
		"going, and desired anew":        {observed: []client.Object{going}, desired: []client.Object{a}, wantUpdate: []string{"a"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := diff(test.observed, test.desired)
			for what, c := range map[string]struct {
				got  []client.Object
				want []string
			}{
				"create": {got.create, test.wantCreate}, "update": {got.update, test.wantUpdate}, "delete": {got.delete, test.wantDelete},
			} {
				if !slices.Equal(names(c.got), c.want) {
					t.Errorf("%s: got %v, want %v", what, names(c.got), c.want)
				}
			}
		})
	}
}

// A tombstone can keep or drop, and neither add nor change.
func TestOnlyObserved(t *testing.T) {
	a, b := testOutput("a"), testOutput("b")
	changed := testOutput("a", func(o *corev1.Pod) { o.Spec.NodeName = "changed" })
	got := onlyObserved([]client.Object{changed, testOutput("new")}, []client.Object{a, b})
	if len(got) != 1 || got[0] != client.Object(a) {
		t.Errorf("got %v, want the observed a alone", names(got))
	}
}

func BenchmarkDiff(b *testing.B) {
	for _, n := range []int{40, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			observed := make([]client.Object, n)
			for i := range observed {
				observed[i] = testOutput(fmt.Sprint(i))
			}
			desired := append(slices.Clone(observed[1:]), testOutput("new"))
			b.ReportAllocs()
			for b.Loop() {
				diff(observed, desired)
			}
		})
	}
}
