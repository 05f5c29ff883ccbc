// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

func newHoldCommand(f *Factory) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:     "hold SNAPSHOT...",
		GroupID: GroupAct,
		Short:   "Keep snapshots: retention does not delete them",
		Long: "Keep snapshots: retention does not delete a snapshot that is held. The schedule still counts it.\n" +
			"A hold does not outlive the schedule: to keep a snapshot that does, use release.",
		Example: `  # Keep the snapshot from before an upgrade, and say why
  kubectl snapsched hold pgdata-20261121100928-46grgsginy --reason "before the upgrade to 18"`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: f.CompleteSnapshots(),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.eachSnapshot(cmd.Context(), args, func(ctx context.Context, c client.Client, v *snapshotv1.VolumeSnapshot) error {
				return f.hold(ctx, c, v, reason)
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "Why it is held: the value of the annotation "+v1alpha1.AnnotationHold+".")
	return cmd
}

func (f *Factory) hold(ctx context.Context, c client.Client, v *snapshotv1.VolumeSnapshot, reason string) error {
	held, is := v.Annotations[v1alpha1.AnnotationHold]
	switch {
	case v.DeletionTimestamp != nil:
		return beingDeleted(v)
	case is && (reason == "" || reason == held):
		f.did(snapshotResource, v.Name, "unchanged")
		return nil
	case reason == "":
		reason = "true"
	}
	if v.Labels[v1alpha1.LabelMapKey] == "" {
		f.warn("VolumeSnapshot %s is not a schedule's, so only schedules that adopt it respect the hold", v.Name)
	}
	if err := annotate(ctx, c, v, v1alpha1.AnnotationHold, reason); err != nil {
		return err
	}
	if v.DeletionTimestamp != nil {
		return beingDeleted(v) // since it was read
	}
	f.did(snapshotResource, v.Name, "held")
	return nil
}

func newUnholdCommand(f *Factory) *cobra.Command {
	return &cobra.Command{
		Use:     "unhold SNAPSHOT...",
		GroupID: GroupAct,
		Short:   "End a hold: retention applies again",
		Long: "End a hold. Retention applies again: a snapshot that has expired is deleted within seconds.\n" +
			"'kubectl snapsched why' says what would become of it.",
		Example:           `  kubectl snapsched unhold pgdata-20261121100928-46grgsginy`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: f.CompleteSnapshots(),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.eachSnapshot(cmd.Context(), args, f.unhold)
		},
	}
}

func (f *Factory) unhold(ctx context.Context, c client.Client, v *snapshotv1.VolumeSnapshot) error {
	if _, held := v.Annotations[v1alpha1.AnnotationHold]; !held {
		f.did(snapshotResource, v.Name, "unchanged")
		return nil
	}
	if err := annotate(ctx, c, v, v1alpha1.AnnotationHold, nil); err != nil {
		return err
	}
	f.did(snapshotResource, v.Name, "no longer held")
	return nil
}
