// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package coverage is the command coverage, which lists PVCs and whether they are protected.
package coverage

import (
	"fmt"

	"github.com/spf13/cobra"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view/protection"
)

// New returns the command coverage, which names the rollbacks that are unfinished.
func New(f *term.Factory, unfinished protection.ReadRollbacks) *cobra.Command {
	var scope term.Scope
	var output term.Output
	var failOnGaps bool
	var contexts string
	cmd := &cobra.Command{
		Use:     "coverage",
		GroupID: term.GroupShow,
		Short:   "Show which PVCs are protected, and which are not",
		Long: "Show for every PVC which schedules select it, its recovery point, and why it is not protected.\n" +
			"A PVC is a gap if it could be snapshotted, but no valid, active schedule selects it and finds a\n" +
			"VolumeSnapshotClass for it (Unprotected); if no ready snapshot covers the slot before the latest (Stale); or if\n" +
			"it is selected, but its storage cannot be snapshotted or its volume is lost (Skipped). A PVC is no gap if it\n" +
			"waits for its first snapshot (Pending), is not bound yet or is being deleted (Skipped), or has the annotation\n" +
			v1alpha1.AnnotationExclude + " (Excluded).\n\n" +
			"Without permission to list VolumeSnapshotClasses, it is unknown whether a PVC without snapshots can be\n" +
			"snapshotted. Such a PVC is shown as Unknown instead of Pending. If it looks like a gap, it counts as one.\n\n" +
			"Rollbacks that began more than an hour ago and are unfinished are listed too, but are no gaps. Without permission\n" +
			"to list Deployments, StatefulSets and PersistentVolumes, those that only these show are left out.",
		Example: `  # Everything in the cluster
  kubectl snapsched coverage -A

  # Fail a pipeline if a PVC of the application is not protected
  kubectl snapsched coverage -n shop -l app=db --fail-on-gaps

  # All clusters of the kubeconfig whose context's name begins with prod-
  kubectl snapsched coverage -A --contexts 'prod-*' -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.ClassesDenied = true
			found, err := protection.CoverageOfContexts(cmd.Context(), f, contexts, &scope, unfinished)
			if err != nil {
				return err
			}
			if len(found.Unread) == 0 && found.Missing != nil {
				return found.Missing
			}
			nothing := len(found.Claims)+len(found.Leftovers)+len(found.Rollbacks)+len(found.Unread) == 0
			if nothing && !output.Structured() && output.Format != term.Names {
				return scope.NothingFound(cmd.Context(), f)
			}
			if err := printCoverage(f.Out, &output, found, contexts != "", scope.AllNamespaces || contexts != ""); err != nil {
				return err
			}
			if len(found.Unread) > 0 {
				return protection.UnreadError(found.Unread)
			}
			if failOnGaps && found.Gaps() > 0 {
				return term.ErrFound
			}
			return nil
		},
	}
	term.Needs(cmd, "list snapshotschedules persistentvolumeclaims volumesnapshots")
	scope.AddFlags(cmd, "PVCs")
	term.Ends(cmd, "--fail-on-gaps has found a gap", "")
	output.AddFlags(cmd, true, term.JSON, term.YAML, term.Names, term.Wide)
	cmd.Flags().BoolVar(&failOnGaps, "fail-on-gaps", false, fmt.Sprintf("End with exit code %d if a PVC is a gap.", term.ExitFound))
	cmd.Flags().StringVar(&contexts, "contexts", "", "Show the clusters of all contexts of the kubeconfig whose name matches this pattern, "+
		"in which * stands for any text and ? for one character.")
	return cmd
}
