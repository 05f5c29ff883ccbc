// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/environment"
)

// target names the object of a step.
type target func(r *environment.Run) client.Object

func theSchedule(r *environment.Run) client.Object {
	return environment.Named(&v1alpha1.SnapshotSchedule{}, r.Namespace, nightly)
}

func theClaim(name string) target {
	return func(r *environment.Run) client.Object {
		return environment.Named(&corev1.PersistentVolumeClaim{}, r.Namespace, name)
	}
}

// theSnapshot is a snapshot that existed before the run, by its nickname.
func theSnapshot(nickname string) target {
	return func(r *environment.Run) client.Object { return r.Called(nickname) }
}

func patch(what string, when func(environment.State) bool, o target, text string, args ...any) Step {
	return Step{What: what, When: when, Do: func(ctx context.Context, r *environment.Run) error {
		return r.Patch(ctx, o(r), text, args...)
	}}
}

func remove(what string, when func(environment.State) bool, o target, options ...client.DeleteOption) Step {
	return Step{What: what, When: when, Do: func(ctx context.Context, r *environment.Run) error {
		return r.Client.Delete(ctx, o(r), options...)
	}}
}

// request requests a snapshot for some time ago, of all PVCs of a schedule or of some.
func request(what string, when func(environment.State) bool, o target, ago time.Duration, claims ...string) Step {
	return Step{What: what, When: when, Do: func(ctx context.Context, r *environment.Run) error {
		return r.Patch(ctx, o(r), `{"metadata":{"annotations":{%q:%q}}}`,
			v1alpha1.AnnotationRequestedAt, v1alpha1.Request{At: r.Now.Add(-ago), Claims: claims}.String())
	}}
}
