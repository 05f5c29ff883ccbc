// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/fixture"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/plan"
)

// What came too late is retried without an error; every other failure is
// reported and returned.
func TestRunSortsErrors(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	terminating := apierrors.NewForbidden(pods, "in", nil)
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	for name, test := range map[string]struct {
		verb        string
		err         error
		wantFailed  []string
		wantErr     bool
		wantDelay   time.Duration
		wantMissing int
	}{
		"created and deleted":                     {wantDelay: longestDelay},
		"create denied":                           {verb: "create", err: forbidden, wantFailed: []string{"create in"}, wantErr: true, wantDelay: firstRetry},
		"create unavailable":                      {verb: "create", err: apierrors.NewServiceUnavailable("test"), wantFailed: []string{"create in"}, wantErr: true, wantDelay: firstRetry},
		"create conflicts":                        {verb: "create", err: apierrors.NewConflict(pods, "in", nil), wantDelay: firstRetry},
		"create in a namespace being deleted":     {verb: "create", err: terminating, wantDelay: firstRetry},
		"create of a kind that is gone":           {verb: "create", err: apierrors.NewNotFound(pods, ""), wantFailed: []string{"create in"}, wantErr: true, wantDelay: firstRetry, wantMissing: 1},
		"create of a kind that is not mapped":     {verb: "create", err: &meta.NoKindMatchError{}, wantFailed: []string{"create in"}, wantErr: true, wantDelay: firstRetry, wantMissing: 1},
		"delete denied":                           {verb: "delete", err: forbidden, wantFailed: []string{"delete old"}, wantErr: true, wantDelay: firstRetry},
		"delete conflicts":                        {verb: "delete", err: apierrors.NewConflict(pods, "old", nil), wantDelay: firstRetry},
		"delete of what is gone":                  {verb: "delete", err: apierrors.NewNotFound(pods, "old"), wantDelay: firstRetry},
		"live read of the confirmation not there": {verb: "get", err: apierrors.NewServiceUnavailable("test"), wantFailed: []string{"delete old"}, wantErr: true, wantDelay: firstRetry},
	} {
		t.Run(name, func(t *testing.T) {
			all := []client.Object{fixture.Parent(), fixture.Input(), fixture.Output("old")}
			h := newHarness(t, all, all)
			h.api.Fail(test.err, test.verb)
			outcome, delay, err := h.pass(t)
			if !slices.Equal(failures(outcome), test.wantFailed) || (err != nil) != test.wantErr || delay != test.wantDelay || h.missing != test.wantMissing {
				t.Errorf("failed %v, error %v, delay %s, %d times missing; want %+v", failures(outcome), err, delay, h.missing, test)
			}
			if test.wantErr && h.Attempts.When(fixture.Request) != test.wantDelay {
				t.Errorf("the queue is told %s", h.Attempts.When(fixture.Request))
			}
			// The other write was made all the same.
			if test.verb != "delete" && test.verb != "get" && !slices.Equal(deleted(outcome), []string{"old"}) {
				t.Errorf("deleted %v", deleted(outcome))
			}
			if test.verb != "create" && !slices.Equal(fixture.Names(outcome.Created), []string{"in"}) {
				t.Errorf("created %v", fixture.Names(outcome.Created))
			}
		})
	}
}

func TestRunCarriesOutTheRestOfAPlanWithAnError(t *testing.T) {
	all := []client.Object{fixture.Parent(), fixture.Input(), fixture.Output("old")}
	h := newHarness(t, all, all)
	h.env.Program.Map = func(seen plan.Observation) plan.Decision {
		return plan.Decision{Delete: fixture.DeleteAllBut(append(slices.Clone(seen.Outputs), fixture.Output("unobserved")))}
	}
	outcome, delay, err := h.pass(t)
	if err == nil || !strings.Contains(err.Error(), "unobserved") || delay != firstRetry || !slices.Equal(deleted(outcome), []string{"old"}) {
		t.Errorf("deleted %v, delay %s, error %v", deleted(outcome), delay, err)
	}
}

// A manager that stops ends its requests. The API server may have carried them out.
func TestRunReportsNoFailureOfAManagerThatStops(t *testing.T) {
	all := []client.Object{fixture.Parent(), fixture.Input(), fixture.Output("old")}
	h := newHarness(t, all, all)
	h.env.Program.Map = func(plan.Observation) plan.Decision {
		return plan.Decision{Ensure: []plan.Desired{{Object: fixture.Output("in")}}, Delete: fixture.DeleteAllBut([]client.Object{fixture.Output("old")})}
	}
	ctx, stop := context.WithCancel(t.Context())
	h.api.Before = func(context.Context, string, runtime.Object) error {
		stop()
		return ctx.Err()
	}
	parent, seen := h.env.Observe()
	outcome, _, err := h.Run(ctx, Work{Request: fixture.Request, Parent: parent.Object, Seen: seen, Plan: h.Kinds.Build(parent, fixture.Request, seen)})
	if err != nil || len(outcome.Failed) > 0 {
		t.Errorf("failed %v, error %v", failures(outcome), err)
	}
}

func TestRunUpdates(t *testing.T) {
	kind := fixture.Outputs()[0]
	kind.Update = func(observed, desired client.Object) {
		observed.(*corev1.Pod).Spec.NodeName = desired.(*corev1.Pod).Spec.NodeName
	}
	for name, test := range map[string]struct {
		stored     *corev1.Pod
		fail       error
		want       string
		wantFailed []string
		wantDelay  time.Duration
	}{
		"an output that differs": {stored: fixture.Output("in", onNode), want: "", wantDelay: longestDelay},
		"not one that changed":   {stored: fixture.Output("in", onNode, changed), want: "other", wantDelay: firstRetry},
		"not one that is gone":   {want: "gone", wantDelay: longestDelay},
		"what is denied fails": {
			stored: fixture.Output("in", onNode), fail: forbidden, want: "other", wantFailed: []string{"update in"}, wantDelay: firstRetry,
		},
	} {
		t.Run(name, func(t *testing.T) {
			stored := []client.Object{fixture.Parent()}
			if test.stored != nil {
				stored = append(stored, test.stored)
			}
			h := newHarness(t, []client.Object{fixture.Parent(), fixture.Input(), fixture.Output("in", onNode)}, stored, kind)
			h.api.Fail(test.fail, "patch")
			outcome, delay, err := h.pass(t)
			if !slices.Equal(failures(outcome), test.wantFailed) || (err != nil) != (test.fail != nil) || delay != test.wantDelay {
				t.Errorf("failed %v, error %v, delay %s", failures(outcome), err, delay)
			}
			if test.stored != nil && h.api.Pod(t, "in").Spec.NodeName != test.want {
				t.Errorf("got %q, want %q", h.api.Pod(t, "in").Spec.NodeName, test.want)
			}
		})
	}
}

func TestRunReturnsTheNextDueTime(t *testing.T) {
	for name, test := range map[string]struct {
		next time.Duration
		want time.Duration
	}{
		"in a minute": {time.Minute, time.Minute},
		"overdue":     {-time.Minute, time.Millisecond},
		"in a day":    {24 * time.Hour, longestDelay},
	} {
		t.Run(name, func(t *testing.T) {
			all := []client.Object{fixture.Parent(), fixture.Input()}
			h := newHarness(t, all, all)
			h.env.Program.Map = func(seen plan.Observation) plan.Decision { return plan.Decision{Next: seen.Now.Add(test.next)} }
			if _, delay, err := h.pass(t); delay != test.want || err != nil {
				t.Errorf("got %s, %v, want %s", delay, err, test.want)
			}
			if h.Attempts.Known(fixture.Request) {
				t.Error("state is left behind")
			}
		})
	}
}

// changed gives an object a version that the cache does not have.
func changed(o *corev1.Pod) { o.ResourceVersion = "1000" }

var errTest = errors.New("test")
