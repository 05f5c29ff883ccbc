// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package guard_test

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/fixture"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/guard"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/plan"
)

// Deletes that depend on an output of another key wait for what the API server has of it.
//
// Contract: GUARD-3.
func TestConfirmReadsEvidenceOfOtherKeysLive(t *testing.T) {
	ofKey := func(key string) func(*corev1.Pod) { return fixture.Label(fixture.Tags.MapKey, key) }
	a, other := fixture.Output("a"), fixture.Output("other", ofKey("another"), ready)
	for name, test := range map[string]struct {
		live []client.Object
		want error
	}{
		"as cached":                 {[]client.Object{a, other}, nil},
		"gone":                      {[]client.Object{a}, guard.ErrChanged},
		"no longer ready":           {[]client.Object{a, fixture.Output("other", ofKey("another"))}, guard.ErrChanged},
		"of this key now":           {[]client.Object{a, fixture.Output("other", ready)}, guard.ErrChanged},
		"no longer the parent's":    {[]client.Object{a, fixture.Output("other", ofKey("another"), ready, fixture.Orphan)}, guard.ErrChanged},
		"created again in its name": {[]client.Object{a, fixture.Output("other", ofKey("another"), ready, func(o *corev1.Pod) { o.UID = "new" })}, guard.ErrChanged},
	} {
		t.Run(name, func(t *testing.T) {
			e := fixture.New(t, []client.Object{fixture.Parent(), a}, append(test.live, fixture.Parent()))
			e.Program.Tombstone = func(seen plan.Observation) (d plan.Decision) {
				for _, o := range seen.Elsewhere {
					if isReady(o) {
						d.Delete, d.Evidence = fixture.DeleteAllBut(seen.Outputs), []client.Object{o}
					}
				}
				return d
			}
			parent, seen := e.Observe()
			seen.Elsewhere = []client.Object{other}
			p := e.Kinds.Build(parent, fixture.Request, seen)
			if len(p.Delete) != 1 || p.Err != nil {
				t.Fatalf("plans to delete %v, %v", p.Delete, p.Err)
			}
			if _, err := e.Guard.Confirm(t.Context(), fixture.Request, parent.Object, p, p.Delete, seen); !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
		})
	}
}
