// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package doctor is the command doctor, which says what a cluster lacks for snapshots.
//
//	doctor.go    the command, and what it prints
//	checks.go    the list of checks, and what one finds
//	api.go       CustomResourceDefinitions, and names that other kinds take
//	storage.go   classes and drivers
//	operator.go  the operator: whether it lives, its version and its rights
//	objects.go   schedules, snapshots, and what was left behind
//	seen.go      what is read of the cluster
package doctor

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mapcontroller.dev/snapshotschedule/internal/cli/doctor/prove"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/version"
)

// report is what the command prints.
type report struct {
	Plugin string      `json:"plugin"`
	Server string      `json:"server,omitempty"`
	Time   metav1.Time `json:"time"`
	Points []point     `json:"points"`
}

// New returns the command doctor, which names what rollbacks have left.
func New(f *term.Factory, rollbacks Rollbacks, proof *prove.Proof) *cobra.Command {
	var scope term.Scope
	var output term.Output
	cmd := &cobra.Command{
		Use:        "doctor",
		GroupID:    term.GroupShow,
		SuggestFor: []string{"check", "diagnose", "debug"},
		Short:      "Say what the cluster lacks for snapshots, with the commands that fix it",
		Long: "Check what a cluster needs for snapshots. Each point is ok, a problem, or unknown because you may not read\n" +
			"it: the CustomResourceDefinitions; the snapshot controller and the sidecars of drivers, by what they have\n" +
			"done; the classes and the known limits of each driver; the operator, its version and its permissions; and, in\n" +
			"the namespace or in all (-A), schedules that protect nothing, snapshots that do not become ready or are not\n" +
			"deleted, and what was left behind. Nothing is written.\n\n" +
			"With --prove, the driver of a storage class is tested instead, in about ten minutes, in a namespace that is\n" +
			"deleted afterwards. Data is written, snapshotted and restored. The snapshot is restored without its volume,\n" +
			"and a copy, made as by restore --to-namespace, is read without the snapshot. If a proof is interrupted, the\n" +
			"next one removes what it has left.",
		Example: `  # Everything, with the command that fixes each problem
  kubectl snapsched doctor -A

  # For a bug report: no Secrets, no data
  kubectl snapsched doctor -A -o json

  # What the driver of the default storage class really does
  kubectl snapsched doctor --prove --groups --limits`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: f.Connected(func(ctx context.Context, _ []string) error {
			s, err := see(ctx, f, &scope, rollbacks)
			if err != nil {
				return err
			}
			r := &report{Plugin: version.Get().String(), Server: s.server, Time: metav1.NewTime(s.now.UTC()), Points: examine(s)}
			if output.Structured() {
				err = output.PrintStructured(f.Out, r)
			} else {
				r.print(f.Out)
			}
			if err == nil && slices.ContainsFunc(r.Points, func(p point) bool { return p.State == Problem }) {
				err = term.ErrFound
			}
			return err
		}),
	}
	cmd.Flags().BoolVarP(&scope.AllNamespaces, "all-namespaces", "A", false, "Examine the objects of all namespaces.")
	output.AddFlags(cmd, false, term.JSON, term.YAML)
	proof.AddTo(cmd, f, &output)
	term.Ends(cmd, "there is a problem, or the driver fails in the proof", "the timeout passed, or a step of the proof has shown nothing")
	return cmd
}

// print prints the points in the order of the checks, and how many of each state there are.
func (r *report) print(w io.Writer) {
	style := term.StyleOf(w)
	paint := map[State]func(string) string{OK: style.Good, Problem: style.Bad, Unknown: style.Warn}
	count := map[State]int{}
	check := ""
	for _, p := range r.Points {
		if p.Check != check {
			if check = p.Check; len(count) > 0 {
				fmt.Fprintln(w)
			}
			fmt.Fprintln(w, style.Bold(check))
		}
		count[p.State]++
		term.Say(w, fmt.Sprintf("  %s %s", paint[p.State](fmt.Sprintf("%-7s", p.State)), p.Message))
		for line := range strings.Lines(p.Fix) { // in one line each, to be pasted
			fmt.Fprintln(w, "          "+strings.TrimSpace(line))
		}
	}
	fmt.Fprintf(w, "\n%s, %d unknown, %d ok.\n", term.Plural(count[Problem], "problem"), count[Unknown], count[OK])
}
