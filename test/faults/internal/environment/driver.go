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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// finalizer is the one that the snapshot controller sets on snapshots.
const finalizer = "snapshot.storage.kubernetes.io/volumesnapshot-bound-protection"

// Driver simulates the snapshot controller and the CSI driver: it makes snapshots ready, and
// removes its finalizer from those being deleted.
type Driver struct {
	run     *Run
	changed chan struct{}
	done    map[types.UID]bool

	mu        sync.Mutex
	protects  bool
	twoSteps  bool
	each      time.Duration
	broken    []string
	lastError error
}

// Protect sets the snapshot controller's finalizer on snapshots, so that a deletion takes two
// steps.
func (d *Driver) Protect() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.protects = true
}

// TwoSteps cuts snapshots first and makes them ready later.
func (d *Driver) TwoSteps() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.twoSteps = true
}

// Slow makes the driver take so long for each snapshot, one after the other.
func (d *Driver) Slow(each time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.each = each
}

// Break stops the driver from cutting snapshots of some PVCs. Without PVCs it fixes the driver.
func (d *Driver) Break(claims ...string) {
	d.mu.Lock()
	d.broken = claims
	d.mu.Unlock()
	notify(d.changed)
}

// Err returns the last error of the driver.
func (d *Driver) Err() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.lastError
}

func (d *Driver) start(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.changed:
		}
		for _, v := range d.run.State().Snapshots {
			err := d.reconcile(ctx, v)
			switch {
			case err == nil || ctx.Err() != nil || apierrors.IsNotFound(err):
			case apierrors.HasStatusCause(err, "NamespaceTerminating"):
			default:
				d.mu.Lock()
				d.lastError = fmt.Errorf("simulate the driver for snapshot %s: %w", v.Name, err)
				d.mu.Unlock()
			}
		}
	}
}

func (d *Driver) reconcile(ctx context.Context, v *snapshotv1.VolumeSnapshot) error {
	d.mu.Lock()
	protects, twoSteps, each := d.protects, d.twoSteps, d.each
	broken := slices.Contains(d.broken, ptr.Deref(v.Spec.Source.PersistentVolumeClaimName, ""))
	d.mu.Unlock()
	switch {
	case v.DeletionTimestamp != nil:
		if !controllerutil.ContainsFinalizer(v, finalizer) {
			return nil
		}
		return d.run.Client.Patch(ctx, v.DeepCopy(), mergePatch(`{"metadata":{"finalizers":null}}`))
	case broken || d.done[v.UID] || v.Spec.Source.VolumeSnapshotContentName != nil || v.Status != nil && v.Status.CreationTime != nil:
		return nil
	}
	select {
	case <-ctx.Done():
		return nil
	case <-time.After(each):
	}
	d.done[v.UID] = true
	if protects && !controllerutil.ContainsFinalizer(v, finalizer) {
		if err := d.run.Client.Patch(ctx, v.DeepCopy(), mergePatch(`{"metadata":{"finalizers":[%q]}}`, finalizer)); err != nil {
			return err
		}
	}
	cut := time.Now().UTC().Format(time.RFC3339)
	setReady := func(ready bool) error {
		return d.run.Client.Status().Patch(ctx, v.DeepCopy(), mergePatch(`{"status":{"creationTime":%q,"readyToUse":%t}}`, cut, ready))
	}
	if twoSteps {
		if err := setReady(false); err != nil {
			return err
		}
	}
	return setReady(true)
}

func mergePatch(format string, args ...any) client.Patch {
	return client.RawPatch(types.MergePatchType, fmt.Appendf(nil, format, args...))
}
