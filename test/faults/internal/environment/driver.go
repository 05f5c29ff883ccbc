// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package environment

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/httpapi"
)

// Finalizer is the one that the snapshot controller sets on snapshots.
const Finalizer = "snapshot.storage.kubernetes.io/volumesnapshot-bound-protection"

// Driver simulates the snapshot controller and the CSI driver: it makes snapshots ready, and removes its finalizer from those being
// deleted.
type Driver struct {
	run  *Run
	done map[types.UID]bool

	mu        sync.Mutex
	behavior  Behavior
	lastError error
}

// Behavior is what distinguishes a driver from one that is fast and good.
type Behavior struct {
	// Protects sets the snapshot controller's finalizer, so that a deletion takes two steps.
	Protects bool
	// TwoSteps cuts snapshots first and makes them ready later.
	TwoSteps bool
	// Upload is the time from the cut of a snapshot until it is ready, one after the other.
	Upload time.Duration
	// Each is the time it takes for each snapshot, one after the other.
	Each time.Duration
	// Broken are the PVCs whose snapshots are not cut.
	Broken []string
}

// Behave changes the driver.
func (d *Driver) Behave(b Behavior) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.behavior = b
}

// Err returns the last error of the driver.
func (d *Driver) Err() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.lastError
}

func (d *Driver) start(ctx context.Context) {
	for ; ctx.Err() == nil; httpapi.Sleep(ctx, 20*time.Millisecond) {
		for _, v := range d.run.State().Snapshots {
			d.mu.Lock()
			b := d.behavior
			d.mu.Unlock()
			err := d.reconcile(ctx, v, b)
			if err == nil || ctx.Err() != nil || apierrors.IsNotFound(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
				continue
			}
			d.mu.Lock()
			d.lastError = fmt.Errorf("simulate the driver for snapshot %s: %w", v.Name, err)
			d.mu.Unlock()
		}
	}
}

func (d *Driver) reconcile(ctx context.Context, v *snapshotv1.VolumeSnapshot, b Behavior) error {
	protected := controllerutil.ContainsFinalizer(v, Finalizer)
	switch {
	case v.DeletionTimestamp != nil:
		if !protected {
			return nil
		}
		return d.run.Client.Patch(ctx, v.DeepCopy(), mergePatch(`{"metadata":{"finalizers":null}}`))
	case d.done[v.UID] || v.Spec.Source.VolumeSnapshotContentName != nil || v.Status != nil && v.Status.CreationTime != nil,
		slices.Contains(b.Broken, ptr.Deref(v.Spec.Source.PersistentVolumeClaimName, "")):
		return nil
	}
	httpapi.Sleep(ctx, b.Each)
	d.done[v.UID] = true
	if b.Protects && !protected {
		if err := d.run.Client.Patch(ctx, v.DeepCopy(), mergePatch(`{"metadata":{"finalizers":[%q]}}`, Finalizer)); err != nil {
			return err
		}
	}
	cut := time.Now().UTC().Format(time.RFC3339)
	setReady := func(ready bool) error {
		return d.run.Client.Status().Patch(ctx, v.DeepCopy(), mergePatch(`{"status":{"creationTime":%q,"readyToUse":%t}}`, cut, ready))
	}
	if b.TwoSteps || b.Upload > 0 {
		if err := setReady(false); err != nil {
			return err
		}
	}
	httpapi.Sleep(ctx, b.Upload)
	return setReady(true)
}

func mergePatch(format string, args ...any) client.Patch {
	return client.RawPatch(types.MergePatchType, fmt.Appendf(nil, format, args...))
}
