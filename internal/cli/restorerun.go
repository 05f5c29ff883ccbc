// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/cli/restore"
)

// restoration is one run of restore.
type restoration struct {
	*Factory
	flags     *restoreFlags
	options   restore.Options
	asOf, now time.Time

	client    client.WithWatch
	namespace string
}

// restored is a snapshot and the PVC that it becomes.
type restored struct {
	snapshot *snapshotv1.VolumeSnapshot
	restore.Plan
}

// run decides about all snapshots before it creates the first PVC.
func (r *restoration) run(ctx context.Context) (err error) {
	if r.client, r.namespace, err = r.Connect(); err != nil {
		return err
	}
	found, err := r.choose(ctx)
	if err != nil {
		return err
	}
	all, err := r.plan(ctx, found)
	if err != nil {
		return err
	}
	for _, p := range all {
		for _, note := range p.Notes {
			r.warn("%s", note)
		}
	}
	if err := r.create(ctx, all); err != nil {
		return err
	}
	if err := r.print(all); err != nil {
		return err
	}
	if r.flags.dryRun != dryRunNone {
		return nil
	}
	if err := r.check(ctx, all); err != nil {
		return err
	}
	if r.flags.wait.Enabled {
		return r.wait(ctx, all)
	}
	return nil
}

// choose returns the snapshots to restore.
func (r *restoration) choose(ctx context.Context) ([]*snapshotv1.VolumeSnapshot, error) {
	switch {
	case r.flags.snapshot != "":
		v := &snapshotv1.VolumeSnapshot{}
		err := r.client.Get(ctx, client.ObjectKey{Namespace: r.namespace, Name: r.flags.snapshot}, v)
		return []*snapshotv1.VolumeSnapshot{v}, err
	case r.flags.claim != "":
		v, err := r.chooseOfClaim(ctx, r.flags.claim)
		return []*snapshotv1.VolumeSnapshot{v}, err
	}
	return r.chooseSet(ctx, r.flags.schedule)
}

func (r *restoration) chooseOfClaim(ctx context.Context, name string) (*snapshotv1.VolumeSnapshot, error) {
	all := &snapshotv1.VolumeSnapshotList{}
	if err := Pages(ctx, r.client, all, client.InNamespace(r.namespace)); err != nil {
		return nil, err
	}
	claim := &corev1.PersistentVolumeClaim{}
	err := r.client.Get(ctx, client.ObjectKey{Namespace: r.namespace, Name: name}, claim)
	if apierrors.IsNotFound(err) {
		claim, err = nil, nil
	}
	if err != nil {
		return nil, err
	}
	v, err := restore.Choose(restore.OfClaim(all.Items, name, claim), name, r.asOf, r.now)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(r.ErrOut, "Restoring %s, of %s (%s ago)\n", v.Name, timestamp(restore.Time(v, r.now)), age(r.now, restore.Time(v, r.now)))
	if restore.Imported(v) {
		r.warn("%s was imported: only its label says that it is of PersistentVolumeClaim %s", v.Name, name)
	}
	return v, nil
}

// create creates the PVCs, or lets the API server check them. It has all of a set
// checked before it creates the first one.
func (r *restoration) create(ctx context.Context, all []restored) error {
	switch r.flags.dryRun {
	case dryRunClient:
		return nil
	case dryRunServer:
		for i := range all {
			if err := r.client.Create(ctx, all[i].Claim, fieldOwner, client.DryRunAll); err != nil {
				return err
			}
			typed(all[i].Claim)
		}
		return nil
	}
	if len(all) > 1 {
		for i := range all {
			if err := r.client.Create(ctx, all[i].Claim.DeepCopy(), fieldOwner, client.DryRunAll); err != nil {
				return err
			}
		}
	}
	var created []string
	for i := range all {
		if err := r.client.Create(ctx, all[i].Claim, fieldOwner); err != nil {
			if len(created) > 0 {
				return fmt.Errorf("%w\nThe set is incomplete. These PVCs were created: %s", err, strings.Join(created, ", "))
			}
			return err
		}
		typed(all[i].Claim)
		created = append(created, all[i].Claim.Name)
	}
	return nil
}

// typed sets the kind, which clients remove from answers.
func typed(claim *corev1.PersistentVolumeClaim) {
	claim.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"))
}

// check reads the snapshots again. Only a PVC that exists keeps its snapshot from
// being deleted: until then, retention could delete it.
func (r *restoration) check(ctx context.Context, all []restored) error {
	var errs []error
	for _, p := range all {
		v := &snapshotv1.VolumeSnapshot{}
		err := r.client.Get(ctx, client.ObjectKeyFromObject(p.snapshot), v)
		switch {
		case apierrors.IsNotFound(err), err == nil && (v.UID != p.snapshot.UID || v.DeletionTimestamp != nil):
			err = fmt.Errorf("VolumeSnapshot %s was deleted while PersistentVolumeClaim %s was created from it: "+
				"delete that PVC and restore another snapshot", p.snapshot.Name, p.Claim.Name)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// print prints what was created, or would be.
func (r *restoration) print(all []restored) error {
	if r.flags.output.Structured() {
		var items []runtime.RawExtension
		for _, p := range all {
			items = append(items, runtime.RawExtension{Object: p.Claim})
		}
		if len(items) == 1 {
			return r.flags.output.PrintStructured(r.Out, all[0].Claim)
		}
		list := &corev1.List{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "List"}, Items: items}
		return r.flags.output.PrintStructured(r.Out, list)
	}
	what := map[string]string{dryRunNone: "created", dryRunClient: "created (dry run)", dryRunServer: "created (server dry run)"}
	for _, p := range all {
		if r.flags.output.Format == Names {
			fmt.Fprintf(r.Out, "%s/%s\n", claimResource, p.Claim.Name)
		} else {
			r.did(claimResource, p.Claim.Name, what[r.flags.dryRun])
		}
	}
	return nil
}

// tableOut is where tables for people go: not into what programs read.
func (r *restoration) tableOut() io.Writer {
	if r.flags.output.Format != "" {
		return r.ErrOut
	}
	return r.Out
}
