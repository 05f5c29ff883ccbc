// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
	"mapcontroller.dev/snapshotschedule/internal/cli/view/history"
)

// NewTimeline returns the command timeline.
func NewTimeline(f *term.Factory) *cobra.Command {
	var output term.Output
	var claim string
	cmd := &cobra.Command{
		Use:     "timeline NAME",
		GroupID: term.GroupShow,
		Short:   "Draw the snapshots of each PVC over time",
		Long: "Draw one line for each PVC of a schedule: its snapshots by age, what keeps them, holds and failures,\n" +
			"and when the next ones are due. Old ages are drawn closer together if the line is too short.",
		Example: `  # All PVCs of a schedule
  kubectl snapsched timeline nightly

  # One PVC, on a line of 160 columns, without colors
  COLUMNS=160 NO_COLOR=1 kubectl snapsched timeline nightly --pvc data-0`,
		Args:              term.Argument("NAME", 1),
		ValidArgsFunction: term.CompleteOne(f.CompleteSchedules()),
		RunE: f.Connected(func(ctx context.Context, args []string) error {
			s, inv, err := view.ReadOf(ctx, f, args[0])
			if err != nil {
				return err
			}
			now := f.Clock.Now()
			t, err := history.TimelineOf(s, inv, claim, now)
			switch {
			case err != nil:
				return err
			case claim != "" && len(t.Rows) == 0:
				return fmt.Errorf("schedule %s neither selects PVC %s nor has snapshots of it", s.Name, claim)
			case output.Structured():
				return output.PrintStructured(f.Out, t)
			}
			t.Draw(f.Out, term.StyleOf(f.Out), term.WidthOf(f.Out), now)
			return nil
		}),
	}
	cmd.Flags().StringVar(&claim, "pvc", "", "Draw this PVC, or its group, only.")
	_ = cmd.RegisterFlagCompletionFunc("pvc", f.CompleteClaims())
	output.AddFlags(cmd, false, term.JSON, term.YAML)
	return cmd
}
