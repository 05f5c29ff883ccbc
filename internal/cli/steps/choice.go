// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"context"
	"errors"
	"fmt"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/cli/recovery"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
)

// Choice is which snapshots are restored, or verified, and to which PVCs.
type Choice struct {
	Factory *term.Factory
	// The flags, as they are written.
	Snapshot, Claim, Schedule, Time string
	AllowIncomplete                 bool
	// Doing says what is done with the snapshot that is chosen.
	Doing   string
	Waiting Wait
	Output  term.Output

	Options   recovery.Options
	asOf, now time.Time
}

// Restored is a snapshot and the PVC that it becomes.
type Restored struct {
	Snapshot *snapshotv1.VolumeSnapshot
	Source   recovery.Source
	Plan     recovery.Plan
}

// Check checks the flags, and reads what they mean.
func (r *Choice) Check() error {
	switch {
	case term.Given(r.Snapshot, r.Claim, r.Schedule) != 1:
		return errors.New("specify one of a snapshot, --pvc and --schedule")
	case r.Waiting.Enabled && r.Factory.DryRun.On():
		return errors.New("--wait has nothing to wait for with --dry-run")
	case r.Time != "" && r.Snapshot != "":
		return errors.New("--as-of chooses a snapshot: name a PVC or a schedule with it, not a snapshot")
	}
	return nil
}

// Choose returns the snapshots to restore.
func (r *Choice) Choose(ctx context.Context) (_ []*snapshotv1.VolumeSnapshot, err error) {
	if r.now, err = r.Factory.ServerTime(ctx); err != nil {
		return nil, err
	}
	r.asOf = r.now
	if r.Time != "" {
		if r.asOf, err = r.Factory.AsOf(r.Time, r.now); err != nil {
			return nil, err
		}
	}
	switch {
	case r.Snapshot != "":
		v, err := view.GetSnapshot(ctx, r.Factory, r.Snapshot)
		if err != nil {
			return nil, err
		}
		if group, isGroup := v.(*groupv1.VolumeGroupSnapshot); isGroup {
			return r.chooseGroup(ctx, group)
		}
		return []*snapshotv1.VolumeSnapshot{v.(*snapshotv1.VolumeSnapshot)}, nil
	case r.Claim != "":
		v, err := r.chooseOfClaim(ctx, r.Claim)
		return []*snapshotv1.VolumeSnapshot{v}, err
	}
	return r.chooseSet(ctx, r.Schedule)
}

// PrintObjects prints objects for programs: one, or a list.
func (r *Choice) PrintObjects(all ...client.Object) error {
	if len(all) == 1 {
		return r.Output.PrintStructured(r.Factory.Out, all[0])
	}
	list := &corev1.List{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "List"}}
	for _, o := range all {
		list.Items = append(list.Items, runtime.RawExtension{Object: o})
	}
	return r.Output.PrintStructured(r.Factory.Out, list)
}

func (r *Choice) chooseOfClaim(ctx context.Context, name string) (*snapshotv1.VolumeSnapshot, error) {
	all := &snapshotv1.VolumeSnapshotList{}
	if err := r.Factory.List(ctx, all, client.InNamespace(r.Factory.Namespace)); err != nil {
		return nil, err
	}
	claim := &corev1.PersistentVolumeClaim{}
	err := r.Factory.Get(ctx, name, claim)
	if apierrors.IsNotFound(err) {
		claim, err = nil, nil
	}
	if err != nil {
		return nil, err
	}
	v, err := recovery.Choose(recovery.OfClaim(all.Items, name, claim), name, r.asOf, r.now)
	if err != nil {
		return nil, err
	}
	at := recovery.Time(v, r.now)
	fmt.Fprintf(r.Factory.ErrOut, "%s %s, of %s (%s ago)\n", r.Doing, v.Name, term.Timestamp(at), term.Age(r.now, at))
	if backup.Imported(v) {
		r.Factory.Warn("%s was imported: only its label says that it is of PersistentVolumeClaim %s", v.Name, name)
	}
	return v, nil
}
