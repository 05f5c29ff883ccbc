// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

func newReleaseCommand(f *Factory) *cobra.Command {
	return &cobra.Command{
		Use:     "release SNAPSHOT...",
		GroupID: GroupAct,
		Short:   "Take snapshots out of their schedule, so that they outlive it",
		Long: "Take snapshots out of their schedule: nothing deletes them any more, not even the deletion of the\n" +
			"schedule. The label " + v1alpha1.LabelMapKey + " and the schedule's ownerReference are removed\n" +
			"in one step. The slot of a released snapshot is not taken again. To give a snapshot back to the schedule,\n" +
			"set the label again, to the UID of the PVC.",
		Example:           `  kubectl snapsched release pgdata-20261121100928-46grgsginy`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: f.CompleteSnapshots(),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.eachSnapshot(cmd.Context(), args, f.release)
		},
	}
}

func (f *Factory) release(ctx context.Context, c client.Client, v *snapshotv1.VolumeSnapshot) error {
	released := false
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		patch, err := releasePatch(v)
		if err != nil || patch == nil {
			return err
		}
		err = again(ctx, c, v, mergePatch(ctx, c, v.DeepCopy(), patch))
		released = err == nil
		return err
	})
	switch {
	case err != nil:
		return err
	case released:
		f.did(snapshotResource, v.Name, "released")
	default:
		f.did(snapshotResource, v.Name, "unchanged")
	}
	return nil
}

// releasePatch is the patch that releases a snapshot; nil if it belongs to no
// schedule. Label and owner go together: between two patches, the schedule could be
// deleted, and the snapshot with it, or the label be gone and the operator down.
func releasePatch(v *snapshotv1.VolumeSnapshot) (map[string]any, error) {
	if v.DeletionTimestamp != nil {
		return nil, beingDeleted(v)
	}
	if owner := metav1.GetControllerOf(v); owner != nil && !snapshots.Ownership.IsParent(owner) {
		return nil, fmt.Errorf("VolumeSnapshot %s is controlled by %s %s, not by a SnapshotSchedule", v.Name, owner.Kind, owner.Name)
	}
	kept := []metav1.OwnerReference{}
	for _, owner := range v.OwnerReferences {
		if !snapshots.Ownership.IsParent(&owner) {
			kept = append(kept, owner)
		}
	}
	_, labeled := v.Labels[v1alpha1.LabelMapKey]
	if !labeled && len(kept) == len(v.OwnerReferences) {
		return nil, nil
	}
	return map[string]any{"metadata": map[string]any{
		"resourceVersion": v.ResourceVersion,
		"labels":          map[string]any{v1alpha1.LabelMapKey: nil},
		"ownerReferences": kept,
	}}, nil
}
