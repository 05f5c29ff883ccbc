// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package status is the commands status, timeline and why, which show what is and explain it.
package status

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
	"mapcontroller.dev/snapshotschedule/internal/cli/view/state"
)

// New returns the command status.
func New(f *term.Factory) *cobra.Command {
	var scope term.Scope
	var output term.Output
	cmd := &cobra.Command{
		Use:        "status [NAME]",
		GroupID:    term.GroupShow,
		SuggestFor: []string{"get", "show", "describe"},
		Short:      "Show each PVC's newest ready snapshot, next slot and problems",
		Long: "Show, for each PVC of the schedules, its newest ready snapshot, the next slot, the number of\n" +
			"snapshots and what is wrong; and the conditions of each schedule in words.",
		Example: `  # All schedules of the namespace
  kubectl snapsched status

  # One schedule
  kubectl snapsched status nightly -n shop

  # The names of PVCs with a problem, in all namespaces
  kubectl snapsched status -A -o json | jq -r '.items[].persistentVolumeClaims[] | select(.problems) | .name'`,
		Args:              term.AtMostOne("NAME"),
		ValidArgsFunction: term.CompleteOne(f.CompleteSchedules()),
		RunE: f.Connected(func(ctx context.Context, args []string) error {
			f.ClassesDenied = true
			now, err := f.ServerTime(ctx)
			if err != nil {
				return err
			}
			found, inv, err := state.ReadSelected(ctx, &scope, f, args)
			if err != nil {
				return err
			}
			all := make([]state.ScheduleStatus, len(found))
			var pointers []*state.ScheduleStatus
			for i, s := range found {
				all[i] = state.StatusOf(s, inv, now)
				pointers = append(pointers, &all[i])
			}
			state.FillSilence(ctx, f, pointers, now)
			if len(all) == 0 && !output.Structured() && output.Format != term.Names {
				return scope.NothingFound(ctx, f)
			}
			return printStatus(f.Out, &output, all, now)
		}),
	}
	term.Needs(cmd, term.ToInspect)
	scope.AddFlags(cmd, "schedules")
	output.AddFlags(cmd, true, term.JSON, term.YAML, term.Names, term.Wide)
	return cmd
}

func printStatus(w io.Writer, output *term.Output, all []state.ScheduleStatus, now time.Time) error {
	if output.Structured() {
		return output.PrintStructured(w, map[string]any{"items": all})
	}
	style := term.StyleOf(w)
	for i, s := range all {
		if output.Format == term.Names {
			fmt.Fprintln(w, term.ScheduleResource+"/"+s.Name)
			continue
		}
		if !output.NoHeaders {
			if i > 0 {
				fmt.Fprintln(w)
			}
			term.Say(w, style.Bold(s.Namespace+"/"+s.Name)+": "+s.Policy)
			for _, line := range s.ConditionWords(style) {
				term.Say(w, "  "+line)
			}
		}
		if len(s.PersistentVolumeClaims) == 0 {
			continue
		}
		if err := output.PrintTable(w, table(&s, now, output.NoHeaders)); err != nil {
			return err
		}
	}
	return nil
}

// table has a row for each PVC, the column GROUP if any belongs to a group, and VERIFIED if any drill
// succeeded. What is wrong with a group is said once. Without the line about the schedule, each row names it.
func table(s *state.ScheduleStatus, now time.Time, alone bool) *term.Table {
	type row = state.ClaimStatus
	age := func(of func(*row) *metav1.Time) func(*row) any {
		return func(c *row) any { return term.Age(now, term.ValueOf(of(c))) }
	}
	rows := s.PersistentVolumeClaims
	drilled := slices.ContainsFunc(rows, func(c row) bool { return c.VerifiedTime != nil })
	grouped := slices.ContainsFunc(rows, func(c row) bool { return c.Group != "" })
	key := ""
	return term.TableOf(rows,
		term.ColIf(alone, "NAMESPACE", func(*row) any { return s.Namespace }),
		term.ColIf(alone, "SCHEDULE", func(*row) any { return s.Name }),
		term.Col("PVC", func(c *row) any { return view.LabelOf(c.Name, c.State) }),
		term.ColIf(grouped, "GROUP", func(c *row) any { return c.Group }),
		term.Col("NEWEST READY", age(func(c *row) *metav1.Time { return c.NewestReadyTime })),
		term.ColIf(drilled, "VERIFIED", age(func(c *row) *metav1.Time { return c.VerifiedTime })),
		term.Col("NEXT", func(c *row) any { return term.Due(now, term.ValueOf(c.NextSnapshotTime)) }),
		term.Col("SNAPSHOTS", func(c *row) any { return c.Snapshots }),
		term.Col("+READY", func(c *row) any { return c.Ready }),
		term.Col("+NEWEST READY NAME", func(c *row) any { return c.NewestReady }),
		term.Col("+MAP KEY", func(c *row) any { return c.MapKey }),
		term.Col("PROBLEM", func(c *row) any {
			before, problems := key, c.ProblemWords(now)
			if key = c.MapKey; c.Group != "" && problems != "" && before == key {
				return "as above"
			}
			return problems
		}))
}
