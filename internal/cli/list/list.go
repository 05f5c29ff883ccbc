// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package list is the command list, which lists snapshots with what keeps them.
//
//	list.go  the command, and what it prints
//	rows.go  the snapshots, as the operator decides about them
package list

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"

	"mapcontroller.dev/snapshotschedule/internal/cli/term"
)

// options are the flags.
type options struct {
	scope       term.Scope
	claim, asOf string
	output      term.Output
}

// New returns the command list.
func New(f *term.Factory) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:        "list [NAME]",
		GroupID:    term.GroupShow,
		SuggestFor: []string{"snapshots"},
		Short:      "List snapshots, and what keeps each of them until when",
		Long: "List the VolumeSnapshots and VolumeGroupSnapshots of a schedule or of all, the newest first: their PVC and slot,\n" +
			"whether they are ready, which rule keeps them until when, and who holds them. Those without a schedule are\n" +
			"listed too, such as the safety snapshots of rollbacks. UNTIL is when the operator deletes a snapshot if nobody\n" +
			"changes anything. It is simulated for at most about a second; 'why SNAPSHOT' simulates it to the end.",
		Example: `  # The snapshots of a PVC
  kubectl snapsched list --pvc data-0

  # What is there from before the accident?
  kubectl snapsched list --pvc data-0 --as-of 2h

  # Hold all snapshots of a schedule
  kubectl snapsched list nightly -o name | xargs kubectl snapsched hold --reason audit`,
		Args:              term.AtMostOne("NAME"),
		ValidArgsFunction: term.CompleteOne(f.CompleteSchedules()),
		RunE: f.Connected(func(ctx context.Context, args []string) error {
			name, err := term.OneSchedule(args)
			if err != nil {
				return err
			}
			return o.run(ctx, f, name)
		}),
	}
	term.Needs(cmd, term.ToInspect)
	o.scope.AddFlags(cmd, "snapshots")
	cmd.Flags().StringVar(&o.claim, "pvc", "", "List only the snapshots of this PVC.")
	cmd.Flags().StringVar(&o.asOf, "as-of", "", "List only what was taken at or before this time: "+term.AsOfForms+".")
	o.output.AddFlags(cmd, true, term.JSON, term.YAML, term.Names, term.Wide)
	return cmd
}

func (o *options) run(ctx context.Context, f *term.Factory, name string) error {
	if name != "" && o.scope.AllNamespaces {
		return errors.New("specify a schedule or --all-namespaces, not both")
	}
	now, err := f.ServerTime(ctx)
	if err != nil {
		return err
	}
	rows, err := o.read(ctx, f, name, now)
	switch {
	case err != nil:
		return err
	case o.output.Structured():
		return o.output.PrintStructured(f.Out, map[string]any{"items": rows})
	case o.output.Format == term.Names:
		for i := range rows {
			fmt.Fprintln(f.Out, rows[i].resource+"/"+rows[i].Name)
		}
		return nil
	case len(rows) == 0 && o.claim != "":
		return o.noneOf(ctx, f)
	case len(rows) == 0:
		return o.scope.NothingFound(ctx, f)
	}
	return o.output.PrintTable(f.Out, o.table(rows, now))
}

// read returns the rows that the flags select.
func (o *options) read(ctx context.Context, f *term.Factory, name string, now time.Time) ([]row, error) {
	asOf := now
	if o.asOf != "" {
		var err error
		if asOf, err = f.AsOf(o.asOf, now); err != nil {
			return nil, err
		}
	}
	rows, err := read(ctx, f, &o.scope, name, now)
	return slices.DeleteFunc(rows, func(r row) bool {
		return o.claim != "" && !slices.Contains(r.Claims, o.claim) || o.asOf != "" && r.Time.After(asOf)
	}), err
}

// noneOf is the error about a PVC without snapshots: its name may be mistyped.
func (o *options) noneOf(ctx context.Context, f *term.Factory) error {
	if o.asOf != "" {
		return fmt.Errorf("no snapshot of PVC %s was taken at or before %s", o.claim, o.asOf)
	}
	if !o.scope.AllNamespaces {
		if err := f.Get(ctx, o.claim, &corev1.PersistentVolumeClaim{}); err != nil {
			return err
		}
	}
	return o.scope.NothingFound(ctx, f)
}

func (o *options) table(rows []row, now time.Time) *term.Table {
	sized := slices.ContainsFunc(rows, func(r row) bool { return r.Size != "" })
	noted := slices.ContainsFunc(rows, func(r row) bool { return r.note(now) != "" })
	return term.TableOf(rows,
		term.ColIf(o.scope.AllNamespaces, "NAMESPACE", func(r *row) any { return r.Namespace }),
		term.Col("NAME", func(r *row) any { return r.Name }),
		term.Col("PVC", func(r *row) any { return strings.Join(r.Claims, "+") }),
		term.Col("AGE", func(r *row) any { return term.Age(now, r.Time.Time) }),
		term.Col("+TIME", func(r *row) any { return term.Timestamp(r.Time.Time) }),
		term.Col("STATE", func(r *row) any { return r.State }),
		term.ColIf(sized, "SIZE", func(r *row) any { return r.Size }),
		term.Col("SCHEDULE", func(r *row) any { return r.Schedule }),
		term.Col("RULE", func(r *row) any { return r.Rule }),
		term.Col("UNTIL", func(r *row) any { return r.untilWords(now) }),
		term.ColIf(noted, "NOTE", func(r *row) any { return r.note(now) }))
}
