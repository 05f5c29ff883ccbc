// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package environment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/judge"
	"mapcontroller.dev/snapshotschedule/test/internal/builders"
	"mapcontroller.dev/snapshotschedule/test/internal/etcd"
)

// Run is one run of a workload, in a namespace of its own.
type Run struct {
	Client    client.WithWatch
	Namespace string
	// Now is when the run was prepared, in whole seconds. Ages are relative to it.
	Now    time.Time
	Driver *Driver
	// StopOperator and StartOperator let a workload upgrade the operator.
	StopOperator, StartOperator func()
	// Nicknames are those of the snapshots that were taken before the run, and of the namespace, by their names.
	Nicknames map[string]string

	etcd    etcd.Client
	records *Recorder
}

// NewRun creates the namespace of a run. The simulated driver ends with the context.
func (c *Cluster) NewRun(ctx context.Context, namespace string) (*Run, error) {
	o := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if err := c.Client.Create(ctx, o); err != nil {
		return nil, err
	}
	r := &Run{
		Client: c.Client, etcd: c.etcd, records: c.Records, Namespace: namespace, Now: time.Now().Truncate(time.Second),
		Nicknames: map[string]string{namespace: "run"},
	}
	r.Driver = &Driver{run: r, done: map[types.UID]bool{}}
	go r.Driver.start(ctx)
	return r, nil
}

// CreateClass creates the run's VolumeSnapshotClass, the default of a driver of its own, with more annotations. The operator sees no other one.
func (r *Run) CreateClass(ctx context.Context, annotations map[string]string) error {
	all := map[string]string{"snapshot.storage.kubernetes.io/is-default-class": "true"}
	maps.Copy(all, annotations)
	return r.Client.Create(ctx, &snapshotv1.VolumeSnapshotClass{
		ObjectMeta: metav1.ObjectMeta{Name: r.Namespace, Annotations: all}, Driver: r.DriverName(),
		DeletionPolicy: snapshotv1.VolumeSnapshotContentDelete,
	})
}

// DriverName returns the name of the run's driver.
func (r *Run) DriverName() string { return r.Namespace + ".example.com" }

// CleanUp deletes what the run has made in no namespace.
func (r *Run) CleanUp(ctx context.Context) error {
	var errs []error
	for _, o := range []client.Object{&snapshotv1.VolumeSnapshotClass{}, &v1alpha1.ClusterSnapshotSchedule{}} {
		errs = append(errs, client.IgnoreNotFound(r.Client.Delete(ctx, Named(o, "", r.Namespace))))
	}
	return errors.Join(errs...)
}

// Called returns an empty object with the name of the snapshot that was taken before the run under a nickname.
func (r *Run) Called(nickname string) *snapshotv1.VolumeSnapshot {
	for name, nick := range r.Nicknames {
		if nick == nickname {
			return Named(&snapshotv1.VolumeSnapshot{}, r.Namespace, name)
		}
	}
	panic("no snapshot has the nickname " + nickname)
}

// State returns what the namespace holds.
func (r *Run) State() *judge.State { return r.records.State(r.Namespace) }

// Changes returns those in the namespace so far.
func (r *Run) Changes() []Change { return r.records.Changes(r.Namespace) }

// PatchStatus merges JSON into the status of an object, as a controller does.
func (r *Run) PatchStatus(ctx context.Context, o client.Object, format string, args ...any) error {
	o.SetNamespace(r.Namespace)
	return r.Client.Status().Patch(ctx, o, mergePatch(format, args...))
}

// Patch merges JSON into an object, as a user does.
func (r *Run) Patch(ctx context.Context, o client.Object, format string, args ...any) error {
	o.SetNamespace(r.Namespace)
	if err := r.Client.Patch(ctx, o, mergePatch(format, args...)); err != nil {
		return fmt.Errorf("patch %s with %s: %w", o.GetName(), fmt.Sprintf(format, args...), err)
	}
	return nil
}

// Store stores an object of some age.
func Store[T client.Object](ctx context.Context, r *Run, o T, age time.Duration) (T, error) {
	o = builders.Existing(o, uuid.NewUUID(), r.Now.Add(-age))
	return o, r.Put(ctx, o)
}

// Claim stores a bound PVC of some age, after some changes.
func (r *Run) Claim(
	ctx context.Context, name string, age time.Duration, changes ...func(*Run, *corev1.PersistentVolumeClaim),
) (*corev1.PersistentVolumeClaim, error) {
	c := builders.Existing(builders.BoundClaim(r.Namespace, name, "none", nil), uuid.NewUUID(), r.Now.Add(-age))
	// The PVC protection controller sets this condition: it must find nothing to change.
	c.Status.Conditions = []corev1.PersistentVolumeClaimCondition{{
		Type: "Unused", Status: corev1.ConditionTrue, Reason: "NoPodsUsingPVC",
		Message: "No pods are currently referencing this PVC", LastTransitionTime: c.CreationTimestamp,
	}}
	for _, change := range changes {
		change(r, c)
	}
	return c, r.Put(ctx, c)
}

// OfDriver makes a PVC one of the run's driver, and of the storage class fast.
func (r *Run) OfDriver(c *corev1.PersistentVolumeClaim) {
	c.Annotations["volume.kubernetes.io/storage-provisioner"] = r.DriverName()
	c.Spec.StorageClassName = ptr.To("fast")
}

// Put stores an object as it is, whatever was stored before.
func (r *Run) Put(ctx context.Context, o client.Object) error {
	_, err := r.etcd.Put(ctx, o)
	return err
}

// Nickname is the annotation with the name that a workload gives to a snapshot of the past.
const Nickname = "faults/name"

// Taken describes a snapshot that was taken before the run.
type Taken struct {
	// Name is the workload's nickname for it.
	Name string
	// Age is how long ago it was taken, and Slot how long ago its slot was. A zero Slot is the same as Age.
	Age, Slot time.Duration
	// Changes make it another one than the ready one of a schedule.
	Changes []func(*snapshotv1.VolumeSnapshot)
}

// Snapshot stores a snapshot that a schedule took of a PVC before the run.
func (r *Run) Snapshot(ctx context.Context, s *v1alpha1.SnapshotSchedule, c *corev1.PersistentVolumeClaim, t Taken) error {
	v := builders.Existing(builders.Snapshot(s, c, r.Now.Add(-cmp.Or(t.Slot, t.Age))), uuid.NewUUID(), r.Now.Add(-t.Age))
	v.Annotations[Nickname] = t.Name
	v.Status = &snapshotv1.VolumeSnapshotStatus{ReadyToUse: ptr.To(true), CreationTime: &v.CreationTimestamp}
	for _, change := range t.Changes {
		change(v)
	}
	r.Nicknames[v.Name] = t.Name
	return r.Put(ctx, v)
}

// Named sets the namespace and the name of an empty object, which can then be patched or deleted.
func Named[T client.Object](o T, namespace, name string) T {
	o.SetNamespace(namespace)
	o.SetName(name)
	return o
}
