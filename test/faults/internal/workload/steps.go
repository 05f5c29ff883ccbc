// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/environment"
)

// when is a step that is due when a check holds.
func when(c check, what string, do do) Step { return Step{What: what, When: holds(c), Do: do} }

// then is a step that follows at once.
func then(what string, do do) Step { return when(all(), what, do) }

func calm(s Step) Step {
	s.Calm = true
	return s
}

// target names the object of a step.
type target func(r *environment.Run) client.Object

func theSchedule(r *environment.Run) client.Object {
	return environment.Named(&v1alpha1.SnapshotSchedule{}, r.Namespace, nightly)
}

// theChild, theFleet and theNamespace are those of a ClusterSnapshotSchedule; all have one name.
func theChild(r *environment.Run) client.Object {
	return environment.Named(&v1alpha1.SnapshotSchedule{}, r.Namespace, r.Namespace)
}

func theFleet(r *environment.Run) client.Object {
	return environment.Named(&v1alpha1.ClusterSnapshotSchedule{}, "", r.Namespace)
}

func theNamespace(r *environment.Run) client.Object {
	return environment.Named(&corev1.Namespace{}, "", r.Namespace)
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

func patch(o target, text string, args ...any) do {
	return func(ctx context.Context, r *environment.Run) error { return r.Patch(ctx, o(r), text, args...) }
}

// get reads two objects.
func get(ctx context.Context, r *environment.Run, of target, into client.Object, ofOther target, other client.Object) error {
	return errors.Join(r.Client.Get(ctx, client.ObjectKeyFromObject(of(r)), into),
		r.Client.Get(ctx, client.ObjectKeyFromObject(ofOther(r)), other))
}

// edit merges JSON into the spec of the schedule.
func edit(text string) do { return patch(theSchedule, `{"spec":%s}`, text) }

func remove(o target, options ...client.DeleteOption) do {
	return func(ctx context.Context, r *environment.Run) error { return r.Client.Delete(ctx, o(r), options...) }
}

// annotate and label set a value, or remove the key if the value is nil.
func annotate(o target, key string, value any) do { return setKey(o, "annotations", key, value) }

func label(o target, key string, value any) do { return setKey(o, "labels", key, value) }

func setKey(o target, field, key string, value any) do {
	text, err := json.Marshal(map[string]any{"metadata": map[string]any{field: map[string]any{key: value}}})
	if err != nil {
		panic(err)
	}
	return patch(o, "%s", text)
}

// unhold removes the hold of a snapshot.
func unhold(nickname string) do { return annotate(theSnapshot(nickname), v1alpha1.AnnotationHold, nil) }

// untag removes the map key of a snapshot, and rename its schedule: both release it.
func untag(nickname string) do { return label(theSnapshot(nickname), v1alpha1.LabelMapKey, nil) }

func rename(nickname string) do {
	return label(theSnapshot(nickname), v1alpha1.LabelSchedule, "weekly")
}

// confirm confirms a generation of a schedule.
func confirm(o target, generation string) do {
	return annotate(o, v1alpha1.AnnotationConfirmGeneration, generation)
}

// request requests a snapshot for some time ago, of all PVCs of a schedule or of some.
func request(o target, ago time.Duration, claims ...string) do {
	return func(ctx context.Context, r *environment.Run) error {
		return annotate(o, v1alpha1.AnnotationRequestedAt, v1alpha1.Request{At: r.Now.Add(-ago), Claims: claims}.String())(ctx, r)
	}
}
