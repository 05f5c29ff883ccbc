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
			"A PVC is a gap if it could be snapshotted, but no valid schedule that is not suspended selects it and\n" +
			"finds a VolumeSnapshotClass for it (Unprotected), or if no ready snapshot covers the slot before the\n" +
			"latest (Stale), or if it is selected and its storage cannot be snapshotted or its volume is lost (Skipped). A PVC\n" +
			"that waits for its first snapshot (Pending), is not bound yet or is being deleted (Skipped), or is annotated with\n" +
			v1alpha1.AnnotationExclude + " (Excluded), is none.\n\n" +
			"Without permission to list VolumeSnapshotClasses it is unknown whether a PVC that has no snapshot can be\n" +
			"snapshotted. It is shown as Unknown instead of Pending. One that looks like a gap counts as one.\n\n" +
			"Rollbacks that began more than an hour ago and have not ended are named, too. They are no gaps. Those that only a\n" +
			"Deployment, a StatefulSet or a PersistentVolume shows are left out without permission to list these.",
		Example: `  # Everything in the cluster
  kubectl snapsched coverage -A

  # Fail a pipeline if a PVC of the application is not protected
  kubectl snapsched coverage -n shop -l app=db --fail-on-gaps

  # All clusters of the kubeconfig whose context's name begins with prod-
  kubectl snapsched coverage -A --contexts 'prod-*' -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			now := f.Clock.Now()
			f.ClassesDenied = true
			found, err := protection.CoverageOfContexts(cmd.Context(), f, contexts, &scope, unfinished, now)
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
			if err := printCoverage(f.Out, &output, found, contexts != "", scope.AllNamespaces || contexts != "", now); err != nil {
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
