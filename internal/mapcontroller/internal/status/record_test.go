// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"context"
	"errors"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/fixture"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/plan"
)

// Somebody changes the parent before each write, so that no status of the version in the cache can be written. The record is
// readyReplicas, which must be at least 1.
//
// Contract: FLEET-13.
func TestTheRecordIsWrittenWhileTheParentChangesAgainAndAgain(t *testing.T) {
	ready := func(n int32) func(*appsv1.Deployment) {
		return func(p *appsv1.Deployment) { p.Status.ReadyReplicas = n }
	}
	unavailable := errors.New("unavailable")
	for name, test := range map[string]struct {
		cached, stored []func(*appsv1.Deployment)
		ensures        bool
		fail           error
		overtaken      bool
		want           int32
		wantErr        error
	}{
		"it lacks what it must say":                 {ensures: true, want: 1},
		"the spec changes, too":                     {ensures: true, stored: []func(*appsv1.Deployment){func(p *appsv1.Deployment) { p.Generation = 7 }}, want: 1},
		"the cache does not show that it says so":   {ensures: true, stored: []func(*appsv1.Deployment){ready(3)}, want: 3},
		"it says so":                                {ensures: true, cached: []func(*appsv1.Deployment){ready(2)}, stored: []func(*appsv1.Deployment){ready(2)}, want: 2},
		"it was created again":                      {ensures: true, stored: []func(*appsv1.Deployment){func(p *appsv1.Deployment) { p.UID = "new" }}},
		"another manager writes a record meanwhile": {ensures: true, overtaken: true, want: 5},
		"the write fails":                           {ensures: true, fail: unavailable, wantErr: unavailable},
		"it must say nothing":                       {},
	} {
		t.Run(name, func(t *testing.T) {
			newer := func(p *appsv1.Deployment) { p.ResourceVersion = "1000" }
			h := newHarness(t, fixture.Parent(append(test.stored, newer)...))
			h.Aggregator.Track(fixture.Parent(), nil)
			h.replicas, h.Recording.Field = 4, "readyReplicas"
			if test.ensures {
				h.Recording.Ensure = func(parent client.Object) {
					d := parent.(*appsv1.Deployment)
					d.Status.ReadyReplicas = max(d.Status.ReadyReplicas, 1)
				}
			}
			conflicts := 0
			h.Client = interceptor.NewClient(h.api, interceptor.Funcs{SubResourcePatch: func(
				ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption,
			) error {
				if conflicts++; conflicts == 1 {
					return apierrors.NewConflict(schema.GroupResource{Resource: "deployments"}, "p", nil)
				}
				if test.overtaken {
					current := &appsv1.Deployment{}
					must(t, h.api.Stored.Get(ctx, parent, current))
					current.Status.ReadyReplicas = 5
					must(t, h.api.Stored.Status().Update(ctx, current))
				}
				if test.fail != nil {
					return test.fail
				}
				err := c.SubResource(sub).Patch(ctx, o, p, opts...)
				if err != nil && test.overtaken { // as the API server does
					err = apierrors.NewInvalid(schema.GroupKind{Kind: "Deployment"}, "p", nil)
				}
				return err
			}})
			result, err := h.Write(t.Context(), plan.Parent{Object: fixture.Parent(test.cached...), Program: &plan.Program{}}, true)
			if !errors.Is(err, test.wantErr) || err == nil && result.RequeueAfter != 5*time.Second {
				t.Errorf("wait %s, error %v", result.RequeueAfter, err)
			}
			stored := &appsv1.Deployment{}
			must(t, h.api.Stored.Get(t.Context(), parent, stored))
			if stored.Status.ReadyReplicas != test.want || stored.Status.Replicas != 0 {
				t.Errorf("the record is %d, want %d; the rest is %d", stored.Status.ReadyReplicas, test.want, stored.Status.Replicas)
			}
		})
	}
}
