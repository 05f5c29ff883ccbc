// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/environment"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/judge"
	"mapcontroller.dev/snapshotschedule/test/internal/builders"
)

// when is a step that is due when a check holds.
func when(c check, what string, do do) Step { return Step{What: what, When: c, Do: do} }

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

func theClass(r *environment.Run) client.Object {
	return environment.Named(&snapshotv1.VolumeSnapshotClass{}, "", r.Namespace)
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

const (
	minute = time.Minute
	hour   = time.Hour
	// nightly is the schedule of every workload without a ClusterSnapshotSchedule.
	nightly = "nightly"
	// age is the age of schedules and PVCs. With an interval of an hour, the last slot was half an hour ago, and the next one is in half
	// an hour.
	age = 240*hour + 30*minute
)

type (
	spec  = v1alpha1.SnapshotScheduleSpec
	taken = environment.Taken
	state = *judge.State

	changes     = []func(*snapshotv1.VolumeSnapshot)
	annotations = map[string]string

	// do is what somebody does: a user, or who prepares a run.
	do = func(ctx context.Context, r *environment.Run) error
)

// pvc is a PVC with the snapshots taken of it, the oldest first.
type pvc struct {
	name      string
	changes   []func(*environment.Run, *corev1.PersistentVolumeClaim)
	snapshots []taken
}

func claim(name string, snapshots ...taken) pvc { return pvc{name: name, snapshots: snapshots} }

// series is a PVC with ready snapshots that are so many hours old. The last slot was half an hour ago.
func series(name string, hours ...float64) pvc {
	c := claim(name)
	for _, h := range hours {
		c.snapshots = append(c.snapshots, ready(time.Duration(h*float64(hour))))
	}
	return c
}

// alike returns a number of PVCs, data-0 and so on, with the same snapshots.
func alike(n int, snapshots ...taken) (claims []pvc) {
	for i := range n {
		claims = append(claims, claim(fmt.Sprint("data-", i), snapshots...))
	}
	return claims
}

// with changes a PVC before it is stored.
func (c pvc) with(changes ...func(*environment.Run, *corev1.PersistentVolumeClaim)) pvc {
	c.changes = changes
	return c
}

// of labels a PVC with an app.
func (c pvc) of(app string) pvc {
	return c.with(func(_ *environment.Run, o *corev1.PersistentVolumeClaim) { o.Labels = map[string]string{"app": app} })
}

// snapshot is a snapshot of some age, ready but for its changes.
func snapshot(age time.Duration, changes ...func(*snapshotv1.VolumeSnapshot)) taken {
	return taken{Age: age, Changes: changes}
}

func ready(age time.Duration) taken  { return snapshot(age) }
func held(age time.Duration) taken   { return snapshot(age, hold) }
func orphan(age time.Duration) taken { return snapshot(age, orphaned) }

// What a snapshot may be: held, without a controller, with the snapshot controller's finalizer, without a map key, not ready, not cut.
func hold(v *snapshotv1.VolumeSnapshot)      { v.Annotations[v1alpha1.AnnotationHold] = "for the audit" }
func orphaned(v *snapshotv1.VolumeSnapshot)  { v.OwnerReferences = nil }
func protected(v *snapshotv1.VolumeSnapshot) { v.Finalizers = []string{environment.Finalizer} }
func untagged(v *snapshotv1.VolumeSnapshot)  { delete(v.Labels, v1alpha1.LabelMapKey) }
func unready(v *snapshotv1.VolumeSnapshot)   { v.Status.ReadyToUse = ptr.To(false) }
func uncut(v *snapshotv1.VolumeSnapshot) {
	v.Status = &snapshotv1.VolumeSnapshotStatus{ReadyToUse: ptr.To(false)}
}

// ofPVC makes a snapshot one that was taken when its PVC had another name.
func ofPVC(name string) func(*snapshotv1.VolumeSnapshot) {
	return func(v *snapshotv1.VolumeSnapshot) {
		v.Spec.Source.PersistentVolumeClaimName, v.Labels[v1alpha1.LabelClaim] = &name, name
	}
}

// inOrder does several things.
func inOrder(all ...do) do {
	return func(ctx context.Context, r *environment.Run) error {
		for _, next := range all {
			if err := next(ctx, r); err != nil {
				return err
			}
		}
		return nil
	}
}

// given creates the schedule, by default with an interval of an hour, and PVCs, all of the usual age.
func given(sp spec, claims ...pvc) do { return givenSince(age, sp, claims...) }

func givenSince(age time.Duration, sp spec, claims ...pvc) do {
	return func(ctx context.Context, r *environment.Run) error {
		s, err := storeSchedule(ctx, r, nightly, age, sp)
		if err != nil {
			return err
		}
		return createClaims(ctx, r, age, s, claims...)
	}
}

func storeSchedule(ctx context.Context, r *environment.Run, name string, age time.Duration, sp spec) (*v1alpha1.SnapshotSchedule, error) {
	if sp.SnapshotInterval == "" && sp.Schedule == "" {
		sp.SnapshotInterval = "1h"
	}
	return environment.Store(ctx, r, builders.Schedule(r.Namespace, name, sp), age)
}

// createClaims creates PVCs, and the snapshots that a schedule has taken of them. One without a nickname gets one: <PVC>-old-<n>.
func createClaims(ctx context.Context, r *environment.Run, age time.Duration, s *v1alpha1.SnapshotSchedule, claims ...pvc) error {
	for _, c := range claims {
		o, err := r.Claim(ctx, c.name, age, c.changes...)
		if err != nil {
			return err
		}
		for i, t := range c.snapshots {
			if t.Name == "" {
				t.Name = old(c.name, i)
			}
			if err := r.Snapshot(ctx, s, o, t); err != nil {
				return err
			}
		}
	}
	return nil
}

// old is the nickname of a snapshot of a PVC.
func old(claim string, n int) string { return fmt.Sprintf("%s-old-%d", claim, n) }

// behaves changes the driver.
func behaves(b environment.Behavior) do {
	return func(_ context.Context, r *environment.Run) error {
		r.Driver.Behave(b)
		return nil
	}
}

// createClass creates the run's class, with annotations of ours.
func createClass(with annotations) do {
	return func(ctx context.Context, r *environment.Run) error { return r.CreateClass(ctx, with) }
}

// andSchedule creates another schedule of all PVCs.
func andSchedule(name string, sp spec) do {
	return func(ctx context.Context, r *environment.Run) error {
		_, err := storeSchedule(ctx, r, name, age, sp)
		return err
	}
}
