// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package hold

import (
	"context"
	"errors"
	"fmt"

	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/cli/change"
	"mapcontroller.dev/snapshotschedule/internal/cli/steps"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// NewRelease returns the command release.
func NewRelease(f *term.Factory) *cobra.Command {
	var output term.Output
	cmd := &cobra.Command{
		Use:     "release SNAPSHOT...",
		GroupID: term.GroupAct,
		Short:   "Take snapshots out of their schedule, so that they outlive it",
		Long: "Take snapshots out of their schedule: nothing deletes them any more, not even the deletion of the\n" +
			"schedule. The label " + v1alpha1.LabelMapKey + " and the schedule's ownerReference are removed\n" +
			"in one step. The slot of a released snapshot is not taken again. To give a snapshot back to the schedule,\n" +
			"set the label again, to the UID of the PVC.",
		Example:           `  kubectl snapsched release pgdata-20261121100928-46grgsginy`,
		Args:              term.Argument("SNAPSHOT", term.AnyNumber),
		ValidArgsFunction: f.CompleteSnapshots(),
		RunE: f.Connected(func(ctx context.Context, names []string) error {
			if err := f.DryRun.OneWrite(len(names)); err != nil {
				return err
			}
			var errs []error
			for _, name := range names {
				v, err := view.GetSnapshot(ctx, f, name)
				if err == nil {
					err = release(ctx, f, &output, v)
				}
				errs = append(errs, err)
			}
			return errors.Join(errs...)
		}),
	}
	term.Needs(cmd, "get patch volumesnapshots")
	f.AddDryRun(cmd, false)
	output.AddFlags(cmd, false, term.JSON, term.YAML, term.Names)
	return cmd
}

func release(ctx context.Context, f *term.Factory, output *term.Output, v client.Object) error {
	resource, _ := view.ResourceOf(v)
	if _, isGroup := v.(*groupv1.VolumeGroupSnapshot); !isGroup && backup.GroupMember(v) {
		return fmt.Errorf("VolumeSnapshot %s is a member of a VolumeGroupSnapshot, and its data belongs to that: "+
			"release the VolumeGroupSnapshot", v.GetName())
	}
	released, err := steps.Update(ctx, f, v, func() ([]byte, error) { return releasePatch(v) })
	if err != nil {
		return err
	}
	what := "unchanged"
	if released {
		what = "released"
	}
	return f.Done(output, v, resource, what)
}

// releasePatch is the patch that releases a snapshot; nil if it belongs to no
// schedule. Label and owner go together: between two patches, the schedule could be
// deleted, and the snapshot with it, or the label be gone and the operator down.
func releasePatch(v client.Object) ([]byte, error) {
	if v.GetDeletionTimestamp() != nil {
		return nil, view.BeingDeleted(v)
	}
	if owner := metav1.GetControllerOf(v); owner != nil && !snapshots.Ownership.IsParent(owner) {
		_, kind := view.ResourceOf(v)
		return nil, fmt.Errorf("%s %s is controlled by %s %s, not by a SnapshotSchedule", kind, v.GetName(), owner.Kind, owner.Name)
	}
	kept := []metav1.OwnerReference{}
	for _, owner := range v.GetOwnerReferences() {
		if !snapshots.Ownership.IsParent(&owner) {
			kept = append(kept, owner)
		}
	}
	_, labeled := v.GetLabels()[v1alpha1.LabelMapKey]
	if !labeled && len(kept) == len(v.GetOwnerReferences()) {
		return nil, nil
	}
	return change.Merge(v, map[string]any{"labels": map[string]any{v1alpha1.LabelMapKey: nil}, "ownerReferences": kept}, nil), nil
}
