// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package restore is the command restore, which makes PVCs from snapshots as package recovery decides.
//
//	restore.go  the command, and a restore in its namespace
//	clone.go    --to-namespace
//	wait.go     --wait
package restore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/cli/change"
	"mapcontroller.dev/snapshotschedule/internal/cli/recovery"
	"mapcontroller.dev/snapshotschedule/internal/cli/steps"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
)

// restoration is one run of restore.
type restoration struct {
	f      *term.Factory
	choice *steps.Choice
	// The flags, as they are written.
	size  string
	modes []string
	// toNamespace is empty for the snapshots' own namespace: see clone.go.
	toNamespace  string
	sharedHandle bool
}

// New returns the command restore.
func New(f *term.Factory) *cobra.Command {
	r := &restoration{f: f, choice: &steps.Choice{Factory: f, Doing: "Restoring"}}
	cmd := &cobra.Command{
		Use:     "restore (SNAPSHOT | GROUP | --pvc PVC | --schedule NAME)",
		GroupID: term.GroupAct,
		Short:   "Restore snapshots to new PVCs",
		Long: `Restore a snapshot, all members of a VolumeGroupSnapshot, the newest snapshot of a PVC, or those of all PVCs of a schedule,
to new PVCs. An existing PVC is never changed or deleted.

The size of a new PVC is the largest of the source PVC's request, its capacity, and the snapshot's restoreSize. Its storage class
and modes are those of the source PVC. If that is gone, the storage class is the default or the only one of the snapshot's driver. A new PVC
has no labels: to have a schedule select it, label it.

--as-of chooses the newest ready snapshot whose data is of that time or earlier. A time in the future is refused.
With --schedule, the set of all PVCs at that time is restored. The snapshots of a set are not taken at the same instant:
the output shows the skew between them. A set in which a PVC has no ready snapshot is refused, unless --allow-incomplete is set.

The spec.source of a snapshot says of which PVC it was taken; labels, which can be edited, do not count. Only for an
imported snapshot, whose source names no PVC, the label map-key counts, and a warning says so.

--to-namespace creates the new PVC in another namespace, and waits until it is bound. Until then, that namespace has the data as
a VolumeSnapshot and a VolumeSnapshotContent with the deletion policy Retain, and the original is held for 24 h. Afterwards only the
PVC stays. This needs cluster-wide permissions. If it is interrupted, run it again with the name of the snapshot.`,
		Example: `  # One snapshot, to a new PVC with the snapshot's name
  kubectl snapsched restore pgdata-20261121100928-46grgsginy

  # The state of a PVC before an accident, and wait until the data is there
  kubectl snapsched restore --pvc pgdata --as-of '2026-11-21 09:00' --to pgdata-before --wait

  # All PVCs of a schedule, to new PVCs with names such as data-0-drill
  kubectl snapsched restore --schedule nightly --to '{pvc}-drill'

  # All PVCs of a schedule under their old names, after they were deleted
  kubectl snapsched restore --schedule nightly --as-of 2026-11-21T09:00:00Z --to '{pvc}'

  # All PVCs of a group, at the instant of one group snapshot
  kubectl snapsched restore shop-20261121100928-46grgsginy --to '{pvc}-r'

  # A copy in another namespace
  kubectl snapsched restore --pvc pgdata --to-namespace staging --to pgdata

  # Only show the manifest
  kubectl snapsched restore --pvc pgdata --dry-run=client -o yaml`,
		Args:              term.AtMostOne("SNAPSHOT"),
		ValidArgsFunction: term.CompleteOne(f.CompleteSnapshots()),
		RunE: r.choice.Waiting.Connected(f, func(ctx context.Context, args []string) error {
			r.choice.Snapshot = strings.Join(args, "")
			if err := r.checkFlags(); err != nil {
				return err
			}
			return r.run(ctx)
		}),
	}
	term.Needs(cmd, `
get volumesnapshots
list volumesnapshots if --pvc --schedule
get persistentvolumeclaims if --pvc
get snapshotschedules if --schedule
list persistentvolumeclaims
create persistentvolumeclaims unless --to-namespace
watch persistentvolumeclaims if --wait
list events if --wait
get list create patch delete volumesnapshotcontents if --to-namespace
get namespaces if --to-namespace
patch volumesnapshots if --to-namespace
get create delete volumesnapshots in --to-namespace
list create persistentvolumeclaims in --to-namespace`)
	cmd.Flags().StringVar(&r.choice.Claim, "pvc", "", "Restore the newest ready snapshot of this PVC, which may be gone.")
	cmd.Flags().StringVar(&r.choice.Schedule, "schedule", "", "Restore the newest ready snapshot of each PVC of this schedule.")
	cmd.Flags().StringVar(&r.choice.Time, "as-of", "", "Restore data of this time or earlier: "+term.AsOfForms+".")
	cmd.Flags().StringVar(&r.choice.Options.Name, "to", recovery.SnapshotPlaceholder,
		"Name of the new PVC. "+recovery.ClaimPlaceholder+" stands for the name of the source PVC, "+
			recovery.SnapshotPlaceholder+" for that of the snapshot.")
	cmd.Flags().StringVar(&r.toNamespace, "to-namespace", "", "Restore to another namespace, and wait until the new PVC is bound.")
	cmd.Flags().BoolVar(&r.sharedHandle, "shared-handle", false,
		"With --to-namespace: allow a driver that was never tried with a second VolumeSnapshotContent of the same data.")
	cmd.Flags().StringVar(&r.choice.Options.StorageClass, "storage-class", "", "Storage class of the new PVC, instead of the source PVC's.")
	cmd.Flags().StringVar(&r.size, "size", "", "Size of the new PVC, such as 20Gi.")
	cmd.Flags().StringSliceVar(&r.modes, "access-mode", nil,
		"Access modes of the new PVC, instead of the source PVC's, such as ReadWriteOnce or RWO.")
	cmd.Flags().BoolVar(&r.choice.AllowIncomplete, "allow-incomplete", false,
		"Restore a set even if some of its PVCs have no ready snapshot of that time.")
	f.AddDryRun(cmd, false)
	term.Ends(cmd, "", "the timeout passed")
	r.choice.Waiting.AddFlags(cmd, "the new PVCs are bound, or wait for their first pod")
	r.choice.Output.AddFlags(cmd, false, term.JSON, term.YAML, term.Names)
	modes := slices.Sorted(maps.Keys(accessModes))
	_ = cmd.RegisterFlagCompletionFunc("access-mode", cobra.FixedCompletions(modes, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// checkFlags reads what the flags mean.
func (r *restoration) checkFlags() error {
	err := r.choice.Check()
	if err == nil {
		err = recovery.CheckName(r.choice.Options.Name)
	}
	if err == nil {
		err = r.checkClone()
	}
	if err != nil {
		return err
	}
	if r.size != "" {
		size, err := resource.ParseQuantity(r.size)
		if _, bytes := strconv.ParseInt(r.size, 10, 64); err != nil || bytes == nil { // 5 would be five bytes
			return fmt.Errorf("invalid --size %q: write a quantity such as 20Gi", r.size)
		}
		r.choice.Options.Size = &size
	}
	for _, text := range r.modes {
		mode, ok := accessModes[text]
		if !ok {
			return fmt.Errorf("invalid --access-mode %q: use ReadWriteOnce, ReadOnlyMany, ReadWriteMany or ReadWriteOncePod", text)
		}
		r.choice.Options.AccessModes = append(r.choice.Options.AccessModes, mode)
	}
	return nil
}

// accessModes are the access modes by their names and kubectl's short ones.
var accessModes = map[string]corev1.PersistentVolumeAccessMode{
	"ReadWriteOnce": corev1.ReadWriteOnce, "RWO": corev1.ReadWriteOnce,
	"ReadOnlyMany": corev1.ReadOnlyMany, "ROX": corev1.ReadOnlyMany,
	"ReadWriteMany": corev1.ReadWriteMany, "RWX": corev1.ReadWriteMany,
	"ReadWriteOncePod": corev1.ReadWriteOncePod, "RWOP": corev1.ReadWriteOncePod,
}

// run decides about all snapshots before it creates the first PVC.
func (r *restoration) run(ctx context.Context) error {
	if r.toNamespace != "" {
		return r.clone(ctx)
	}
	found, err := r.choice.Choose(ctx)
	if err != nil {
		return err
	}
	all, err := r.choice.Plan(ctx, found, r.toNamespace)
	if err != nil {
		return err
	}
	for _, p := range all {
		for _, note := range p.Plan.Notes {
			r.f.Warn("%s", note)
		}
	}
	if err := r.f.DryRun.OneWrite(len(all)); err != nil {
		return err
	}
	if err := r.create(ctx, all); err != nil {
		return err
	}
	claims := make([]client.Object, len(all))
	for i := range all {
		claims[i] = all[i].Plan.Claim
	}
	if err := r.print("created", claims...); err != nil {
		return err
	}
	if r.f.DryRun.On() {
		return nil
	}
	if err := r.confirm(ctx, all); err != nil {
		return err
	}
	if r.choice.Waiting.Enabled {
		return r.wait(ctx, all)
	}
	return nil
}

// create creates the PVCs, or lets the API server check them. It has all of a set
// checked before it creates the first one.
func (r *restoration) create(ctx context.Context, all []steps.Restored) error {
	checks, creates := len(all) > 1, true
	switch r.f.DryRun {
	case term.DryRunClient:
		return nil
	case term.DryRunServer:
		checks, creates = true, false
	}
	for i := range all {
		if claim := all[i].Plan.Claim.DeepCopy(); checks {
			if err := r.f.Client.Create(ctx, claim, term.FieldOwner, client.DryRunAll); err != nil {
				return err
			}
			if !creates {
				all[i].Plan.Claim = claim
			}
		}
	}
	var created []string
	for i := range all {
		if creates {
			if err := steps.Send(ctx, r.f, change.Change{Create: all[i].Plan.Claim}); err != nil {
				if len(created) > 0 {
					err = fmt.Errorf("%w\nThe set is incomplete. These PVCs were created: %s", err, strings.Join(created, ", "))
				}
				return err
			}
			created = append(created, all[i].Plan.Claim.Name)
		}
		// Clients remove the kind from answers.
		all[i].Plan.Claim.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"))
	}
	return nil
}

// confirm reads the snapshots again. Only a PVC that exists keeps its snapshot from
// being deleted: until then, retention could delete it.
func (r *restoration) confirm(ctx context.Context, all []steps.Restored) error {
	var errs []error
	for _, p := range all {
		v := &snapshotv1.VolumeSnapshot{}
		err := r.f.Client.Get(ctx, client.ObjectKeyFromObject(p.Snapshot), v)
		if apierrors.IsNotFound(err) || err == nil && (v.UID != p.Snapshot.UID || v.DeletionTimestamp != nil) {
			err = fmt.Errorf("VolumeSnapshot %s was deleted while PersistentVolumeClaim %s was created from it: "+
				"delete that PVC and restore another snapshot", p.Snapshot.Name, p.Plan.Claim.Name)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// print prints what was created, or would be.
func (r *restoration) print(what string, all ...client.Object) error {
	if r.choice.Output.Structured() {
		return r.choice.PrintObjects(all...)
	}
	if r.choice.Output.Format == term.Names {
		what = ""
	}
	for _, o := range all {
		kind := o.GetObjectKind().GroupVersionKind()
		r.f.Did(strings.ToLower(strings.TrimSuffix(kind.Kind+"."+kind.Group, ".")), o.GetName(), what)
	}
	return nil
}
