// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package guard_test

import (
	"errors"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/fixture"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/guard"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/plan"
)

// Contract: GRP-10.
func TestConfirmReadsChildrenLive(t *testing.T) {
	a, b := fixture.Output("a"), fixture.Output("b")
	keep := func(c *corev1.ConfigMap) { c.Annotations = map[string]string{"keep": ""} }
	stranger := func(c *corev1.ConfigMap) { c.OwnerReferences[0].UID = "other" }
	unlabeled := func(c *corev1.ConfigMap) { c.Labels = nil }
	ofA := func(changes ...func(*corev1.ConfigMap)) *corev1.ConfigMap {
		return fixture.Child("of-a", a, changes...)
	}
	ofB := func(changes ...func(*corev1.ConfigMap)) *corev1.ConfigMap {
		return fixture.Child("of-b", b, changes...)
	}
	for name, test := range map[string]struct {
		live    []client.Object // a and b are live, too
		want    []string
		wantErr error
	}{
		"as cached":                          {live: []client.Object{ofA(), ofB()}, want: []string{"b"}},
		"that of the evidence is gone":       {live: []client.Object{ofB()}, wantErr: guard.ErrChanged},
		"that of the evidence is another's":  {live: []client.Object{ofA(stranger), ofB()}, wantErr: guard.ErrChanged},
		"that of the evidence has no label":  {live: []client.Object{ofA(unlabeled), ofB()}, wantErr: guard.ErrChanged},
		"that of what is deleted is a hold":  {live: []client.Object{ofA(), ofB(keep)}, wantErr: guard.ErrChanged},
		"that of what is deleted is gone":    {live: []client.Object{ofA()}, want: []string{"b"}},
		"what is deleted has one more, held": {live: []client.Object{ofA(), ofB(), fixture.Child("new", b, keep)}, wantErr: guard.ErrChanged},
	} {
		t.Run(name, func(t *testing.T) {
			cached := []client.Object{fixture.Parent(), a, b, ofA(), ofB()}
			e := fixture.New(t, cached, append([]client.Object{fixture.Parent(), a, b}, test.live...), fixture.OutputsWithChildren())
			// b is deleted while a has a child, unless one of b's keeps it.
			e.Program.Tombstone = func(seen plan.Observation) (d plan.Decision) {
				kind := e.Kinds.Output(a).Children
				kept := slices.ContainsFunc(fixture.Children(kind, b, seen.Children), func(c client.Object) bool { _, keeps := c.GetAnnotations()["keep"]; return keeps })
				if len(fixture.Children(kind, a, seen.Children)) > 0 && !kept {
					d.Delete, d.Evidence = fixture.DeleteAllBut(seen.Outputs, "a"), seen.Outputs[:1]
				}
				return d
			}
			got, _, err := confirm(e)
			if !errors.Is(err, test.wantErr) || err == nil && !slices.Equal(got, test.want) {
				t.Errorf("got %v, %v; want %v, %v", got, err, test.want, test.wantErr)
			}
		})
	}
}
