// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/fixture"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/plan"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/queue"
)

const (
	firstRetry, lastRetry = queue.FirstRetry, queue.LastRetry
	longestDelay          = queue.LongestDelay
)

var forbidden = apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "a", nil)

// harness is an Executor between a cache and an API server.
type harness struct {
	*Executor
	env *fixture.Env
	api *fixture.API
	// missing counts the calls of KindMissing.
	missing int
}

func newHarness(t *testing.T, cached, stored []client.Object, outputs ...plan.Output) *harness {
	t.Helper()
	env := fixture.New(t, cached, stored, outputs...)
	h := &harness{env: env, api: env.API}
	h.Executor = &Executor{
		Client: env.API, Clock: env.Clock, Kinds: env.Kinds, Guard: env.Guard,
		Attempts:    queue.NewAttempts(env.Clock),
		Pace:        queue.NewPace(env.Clock, 0),
		KindMissing: func() { h.missing++ },
		MayCreate:   func(plan.Request, []plan.Desired, []client.Object) string { return "" },
	}
	return h
}

// creates makes creates do something else.
func (h *harness) creates(create func(context.Context, client.Object) error) {
	h.Client = interceptor.NewClient(h.api, interceptor.Funcs{
		Create: func(ctx context.Context, _ client.WithWatch, o client.Object, _ ...client.CreateOption) error {
			return create(ctx, o)
		},
	})
}

// paced limits the deletes per second.
func (h *harness) paced(perSecond float64) {
	h.Pace = queue.NewPace(h.env.Clock, perSecond)
	h.Pace.Wake = func(plan.Request) {}
}

// keepAll makes the program keep all outputs.
func (h *harness) keepAll() {
	h.env.Program.Tombstone = func(plan.Observation) plan.Decision { return plan.Decision{} }
}

// pass makes one pass over the key, as the controller does.
func (h *harness) pass(t *testing.T) (Outcome, time.Duration, error) {
	t.Helper()
	parent, seen := h.env.Observe()
	w := Work{Request: fixture.Request, Parent: parent.Object}
	seen.Outputs, w.Aside = h.SetAside(parent.Object, fixture.Request, seen.Outputs)
	w.Seen, w.Plan = seen, h.Kinds.Build(parent, fixture.Request, seen)
	return h.Run(t.Context(), w)
}

func (h *harness) after(d time.Duration) { h.env.Clock.SetTime(fixture.Now.Add(d)) }

// failures returns the failed writes, as verb and name.
func failures(o Outcome) []string {
	var all []string
	for _, f := range o.Failed {
		all = append(all, string(f.Verb)+" "+f.Object.GetName())
	}
	return all
}

func deleted(o Outcome) []string {
	var all []client.Object
	for _, d := range o.Deleted {
		all = append(all, d.Object)
	}
	return fixture.Names(all)
}

// onNode makes a Pod differ from the desired one.
func onNode(o *corev1.Pod) { o.Spec.NodeName = "other" }
