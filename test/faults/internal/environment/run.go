// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package environment

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/internal/cluster"
)

// Run is one run of a workload, in a namespace of its own.
type Run struct {
	*Cluster
	Namespace string
	// Now is when the run was prepared, in whole seconds. Ages are relative to it.
	Now    time.Time
	Driver *Driver
	// StopOperator and StartOperator let a workload upgrade the operator.
	StopOperator, StartOperator func(ctx context.Context) error
	// World is held while somebody writes what the operator's writes are judged by.
	World sync.Locker

	// created is the revision that created the namespace.
	created   int64
	nicknames map[string]string
	changed   chan struct{}
}

// NewRun creates the namespace of a run. The simulated driver ends with the context.
func (c *Cluster) NewRun(ctx context.Context, namespace string) (*Run, error) {
	r := &Run{Cluster: c, Namespace: namespace, Now: time.Now().Truncate(time.Second), nicknames: map[string]string{namespace: "run"}}
	o := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if err := c.Client.Create(ctx, o); err != nil {
		return nil, err
	}
	var err error
	if r.created, err = strconv.ParseInt(o.ResourceVersion, 10, 64); err != nil {
		return nil, err
	}
	r.changed = c.Records.onChange(namespace)
	r.Driver = &Driver{run: r, changed: c.Records.onChange(namespace), done: map[types.UID]bool{}}
	go r.Driver.start(ctx)
	return r, nil
}

// CreateClass creates the run's VolumeSnapshotClass, the default of a driver of its
// own. The operator sees no other one.
func (r *Run) CreateClass(ctx context.Context) error {
	return r.Client.Create(ctx, &snapshotv1.VolumeSnapshotClass{
		ObjectMeta: metav1.ObjectMeta{
			Name: r.Namespace, Annotations: map[string]string{"snapshot.storage.kubernetes.io/is-default-class": "true"},
		},
		Driver: r.driver(), DeletionPolicy: snapshotv1.VolumeSnapshotContentDelete,
	})
}

func (r *Run) driver() string { return r.Namespace + ".example.com" }

// CleanUp deletes what the run has made in no namespace.
func (r *Run) CleanUp(ctx context.Context) error {
	fleet := &v1alpha1.ClusterSnapshotSchedule{ObjectMeta: metav1.ObjectMeta{Name: r.Namespace}}
	return errors.Join(r.DeleteClass(ctx), client.IgnoreNotFound(r.Client.Delete(ctx, fleet)))
}

// DeleteClass deletes the run's VolumeSnapshotClass, if it has one.
func (r *Run) DeleteClass(ctx context.Context) error {
	return client.IgnoreNotFound(r.Client.Delete(ctx, &snapshotv1.VolumeSnapshotClass{ObjectMeta: metav1.ObjectMeta{Name: r.Namespace}}))
}

// ClaimOfDriver stores a PVC of the run's driver, and of the storage class fast.
func (r *Run) ClaimOfDriver(ctx context.Context, name string, age time.Duration, change func(*corev1.PersistentVolumeClaim)) (
	*corev1.PersistentVolumeClaim, error,
) {
	return r.claim(ctx, name, age, nil, func(c *corev1.PersistentVolumeClaim) {
		c.Annotations["volume.kubernetes.io/storage-provisioner"] = r.driver()
		c.Spec.StorageClassName = ptr.To("fast")
		change(c)
	})
}

// Nicknames maps the names of the snapshots that were taken before the run, and of the namespace, to their nicknames.
func (r *Run) Nicknames() map[string]string { return r.nicknames }

// Called returns an empty object with the name of the snapshot that was taken before the run under a
// nickname.
func (r *Run) Called(nickname string) *snapshotv1.VolumeSnapshot {
	for name, nick := range r.nicknames {
		if nick == nickname {
			return Named(&snapshotv1.VolumeSnapshot{}, r.Namespace, name)
		}
	}
	panic("no snapshot has the nickname " + nickname)
}

// Told returns the channel that is sent to after changes in the namespace.
func (r *Run) Told() <-chan struct{} { return r.changed }

// State returns what the namespace holds.
func (r *Run) State() State { return r.Records.State(r.Namespace) }

// Changes returns those in the namespace so far.
func (r *Run) Changes() []Change { return r.Records.Changes(r.Namespace) }

// Ages returns the revisions one change ago, halfway back and before the first change.
func (r *Run) Ages() [3]int64 {
	changes := r.Changes()
	ages := [3]int64{r.created, r.created, r.created}
	if n := len(changes); n > 1 {
		ages[0], ages[1] = changes[n-2].Revision, changes[n/2].Revision
	}
	return ages
}

// Object returns an object as it was at a revision, as JSON, or nil if it did not exist.
func (r *Run) Object(resource, name string, revision int64) []byte {
	var found client.Object
	for _, c := range r.Changes() {
		o := c.After
		if o == nil {
			o = c.Before
		}
		if c.Revision > revision || o.GetName() != name || pluralOf(o) != resource {
			continue
		}
		found = c.After
	}
	if found == nil {
		return nil
	}
	text, err := cluster.JSON(found)
	if err != nil {
		panic(err) // the scheme knows the recorded kinds
	}
	return text
}

func pluralOf(o client.Object) string {
	switch o.(type) {
	case *v1alpha1.SnapshotSchedule:
		return "snapshotschedules"
	case *corev1.PersistentVolumeClaim:
		return "persistentvolumeclaims"
	case *snapshotv1.VolumeSnapshot:
		return "volumesnapshots"
	case *v1alpha1.ClusterSnapshotSchedule:
		return "clustersnapshotschedules"
	case *corev1.Namespace:
		return "namespaces"
	}
	panic(fmt.Sprintf("a %T was recorded", o))
}

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
