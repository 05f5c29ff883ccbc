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

// finalizer is what the snapshot controller has on snapshots.
const finalizer = "snapshot.storage.kubernetes.io/volumesnapshot-bound-protection"

// Driver plays the snapshot controller and the CSI driver: it makes snapshots
// ready, and lets them go.
type Driver struct {
	run  *Run
	told chan struct{}
	done map[types.UID]bool

	mu        sync.Mutex
	protects  bool
	twoSteps  bool
	broken    []string
	lastError error
}

// Protect has snapshots carry the finalizer of the snapshot controller, so that a
// delete takes two steps.
func (d *Driver) Protect() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.protects = true
}

// TwoSteps has snapshots be cut first and ready later.
func (d *Driver) TwoSteps() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.twoSteps = true
}

// Break has no snapshot of some PVCs be cut; without any, all is well again.
func (d *Driver) Break(claims ...string) {
	d.mu.Lock()
	d.broken = claims
	d.mu.Unlock()
	select {
	case d.told <- struct{}{}:
	default:
	}
}

// Err is the last thing that went wrong.
func (d *Driver) Err() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.lastError
}

func (d *Driver) play(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.told:
		}
		for _, v := range d.run.State().Snapshots {
			err := d.look(ctx, v)
			switch {
			case err == nil || ctx.Err() != nil || apierrors.IsNotFound(err):
			case apierrors.HasStatusCause(err, "NamespaceTerminating"):
			default:
				d.mu.Lock()
				d.lastError = fmt.Errorf("the driver's part of %s: %w", v.Name, err)
				d.mu.Unlock()
			}
		}
	}
}

func (d *Driver) look(ctx context.Context, v *snapshotv1.VolumeSnapshot) error {
	d.mu.Lock()
	protects, twoSteps := d.protects, d.twoSteps
	broken := slices.Contains(d.broken, ptr.Deref(v.Spec.Source.PersistentVolumeClaimName, ""))
	d.mu.Unlock()
	switch {
	case v.DeletionTimestamp != nil:
		if !controllerutil.ContainsFinalizer(v, finalizer) {
			return nil
		}
		return d.patch(ctx, v, `{"metadata":{"finalizers":null}}`, false)
	case broken || d.done[v.UID] || v.Status != nil && v.Status.CreationTime != nil:
		return nil
	}
	d.done[v.UID] = true
	if protects && !controllerutil.ContainsFinalizer(v, finalizer) {
		if err := d.patch(ctx, v, fmt.Sprintf(`{"metadata":{"finalizers":[%q]}}`, finalizer), false); err != nil {
			return err
		}
	}
	cut := time.Now().UTC().Format(time.RFC3339)
	if twoSteps {
		if err := d.patch(ctx, v, fmt.Sprintf(`{"status":{"creationTime":%q,"readyToUse":false}}`, cut), true); err != nil {
			return err
		}
	}
	return d.patch(ctx, v, fmt.Sprintf(`{"status":{"creationTime":%q,"readyToUse":true}}`, cut), true)
}

func (d *Driver) patch(ctx context.Context, v *snapshotv1.VolumeSnapshot, text string, status bool) error {
	o := v.DeepCopy()
	patch := client.RawPatch(types.MergePatchType, []byte(text))
	if status {
		return d.run.Client.Status().Patch(ctx, o, patch)
	}
	return d.run.Client.Patch(ctx, o, patch)
}
