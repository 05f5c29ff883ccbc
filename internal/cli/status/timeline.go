// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view/history"
	"mapcontroller.dev/snapshotschedule/internal/cli/view/state"
)

// NewTimeline returns the command timeline.
func NewTimeline(f *term.Factory) *cobra.Command {
	var scope term.Scope
	var output term.Output
	var claim string
	cmd := &cobra.Command{
		Use:     "timeline [NAME]",
		GroupID: term.GroupShow,
		Short:   "Draw the snapshots of each PVC over time",
		Long: "Draw one line for each PVC of the schedules: its snapshots by age, what keeps them, holds and failures,\n" +
			"and when the next ones are due. If the line is too short, old ages are drawn closer together.",
		Example: `  # All schedules of the namespace
  kubectl snapsched timeline

  # One schedule
  kubectl snapsched timeline nightly

  # One PVC, on a line of 160 columns, without colors
  COLUMNS=160 NO_COLOR=1 kubectl snapsched timeline nightly --pvc data-0`,
		Args:              term.AtMostOne("NAME"),
		ValidArgsFunction: term.CompleteOne(f.CompleteSchedules()),
		RunE: f.Connected(func(ctx context.Context, args []string) error {
			now, err := f.ServerTime(ctx)
			if err != nil {
				return err
			}
			all, err := readTimelines(ctx, f, &scope, args, claim, now)
			switch {
			case err != nil:
				return err
			case output.Structured() && len(args) > 0:
				return output.PrintStructured(f.Out, all[0])
			case output.Structured():
				return output.PrintStructured(f.Out, map[string]any{"items": all})
			case len(all) == 0:
				return scope.NothingFound(ctx, f)
			}
			for i, t := range all {
				if i > 0 {
					fmt.Fprintln(f.Out)
				}
				t.Draw(f.Out, term.StyleOf(f.Out), term.WidthOf(f.Out), now)
			}
			return nil
		}),
	}
	cmd.Flags().StringVar(&claim, "pvc", "", "Draw only this PVC, or its group.")
	term.Needs(cmd, term.ToInspect)
	scope.AddFlags(cmd, "schedules")
	output.AddFlags(cmd, false, term.JSON, term.YAML)
	return cmd
}

// readTimelines reads the timelines of the schedules that the user names. Of all schedules, those have none that have nothing to do
// with a PVC, or whose spec is invalid.
func readTimelines(
	ctx context.Context, f *term.Factory, scope *term.Scope, args []string, claim string, now time.Time,
) ([]*history.Timeline, error) {
	found, inv, err := state.ReadSelected(ctx, scope, f, args)
	if err != nil {
		return nil, err
	}
	all := []*history.Timeline{}
	for _, s := range found {
		switch t, err := history.TimelineOf(s, inv, claim, now); {
		case err != nil && len(args) > 0:
			return nil, err
		case err != nil:
			f.Warn("%s", err)
		case claim == "" || len(t.Rows) > 0:
			all = append(all, t)
		}
	}
	switch {
	case claim == "" || len(all) > 0 || len(found) == 0:
	case len(args) > 0:
		return nil, fmt.Errorf("schedule %s neither selects PVC %s nor has snapshots of it", args[0], claim)
	default:
		return nil, fmt.Errorf("no schedule shown here selects PVC %s or has snapshots of it", claim)
	}
	return all, nil
}
