// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package mapcontroller

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/fixture"
)

// Contract: GRP-16.
func TestDecisionsAreToldSinceWhenInputsAreTheSame(t *testing.T) {
	var seen Observation
	second := fixture.Input(func(s *corev1.Secret) { s.Name, s.UID = "second", "second-uid" })
	h := newHarness(t, []client.Object{fixture.Parent(), fixture.Input(), second}, nil, func(c *MapController, _ *Options) { c.SteadyAfter = 10 * time.Second })
	selected := ""
	h.program.Selects = func(o client.Object) bool { return strings.Contains(selected, o.GetName()) }
	h.program.Key = func(client.Object) string { return testKey.MapKey }
	h.program.Map = func(o Observation) Decision { seen = o; return Decision{} }
	for _, pass := range []struct {
		what                   string
		after                  time.Duration
		selected               string
		wantSame, wantChanging time.Duration // since the first pass
	}{
		{"the first input", 0, "in", 0, 0},
		{"nothing has changed", 2 * time.Second, "in", 0, 0},
		{"the second input", 2 * time.Second, "in second", 4 * time.Second, 0},
		{"nothing has changed again", 2 * time.Second, "in second", 4 * time.Second, 0},
		{"the first one is gone, later", 10 * time.Second, "second", 16 * time.Second, 16 * time.Second},
	} {
		h.clock.SetTime(h.clock.Now().Add(pass.after))
		selected = pass.selected
		h.reconcile(t)
		same, changing := seen.SameSince.Sub(fixture.Now), seen.ChangingSince.Sub(fixture.Now)
		if same != pass.wantSame || changing != pass.wantChanging {
			t.Errorf("%s: the same since %v, changing since %v", pass.what, same, changing)
		}
	}
	for what, event := range map[string]func(q keyQueue){
		"the parent is gone": func(q keyQueue) { send(h.parentEvents(), q, new(fixture.Parent()), nil) },
		"its program has no keys of its own": func(q keyQueue) {
			h.programs.Clear()
			h.program.Key = nil
			send(h.parentEvents(), q, nil, new(fixture.Parent()))
		},
	} {
		h.programs.Clear()
		h.program.Key = func(client.Object) string { return testKey.MapKey }
		h.clock.SetTime(h.clock.Now().Add(time.Minute))
		h.reconcile(t)
		enqueued(event)
		h.programs.Clear()
		h.program.Key = func(client.Object) string { return testKey.MapKey }
		h.clock.SetTime(h.clock.Now().Add(time.Minute))
		if h.reconcile(t); !seen.SameSince.Equal(h.clock.Now()) {
			t.Errorf("%s: it is not forgotten", what)
		}
	}
}
