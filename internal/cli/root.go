// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"

	"mapcontroller.dev/snapshotschedule/internal/cli/confirm"
	"mapcontroller.dev/snapshotschedule/internal/cli/coverage"
	"mapcontroller.dev/snapshotschedule/internal/cli/doctor"
	"mapcontroller.dev/snapshotschedule/internal/cli/doctor/prove"
	"mapcontroller.dev/snapshotschedule/internal/cli/hold"
	"mapcontroller.dev/snapshotschedule/internal/cli/list"
	"mapcontroller.dev/snapshotschedule/internal/cli/migrate"
	"mapcontroller.dev/snapshotschedule/internal/cli/preview"
	"mapcontroller.dev/snapshotschedule/internal/cli/report"
	"mapcontroller.dev/snapshotschedule/internal/cli/restore"
	"mapcontroller.dev/snapshotschedule/internal/cli/rollback"
	"mapcontroller.dev/snapshotschedule/internal/cli/simulate"
	"mapcontroller.dev/snapshotschedule/internal/cli/snapshot"
	"mapcontroller.dev/snapshotschedule/internal/cli/status"
	"mapcontroller.dev/snapshotschedule/internal/cli/suspend"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/verify"
	"mapcontroller.dev/snapshotschedule/internal/version"
)

// commands are the constructors of all commands, one a file.
var commands = []func(*term.Factory) *cobra.Command{
	// GroupShow
	status.New,
	list.New,
	func(f *term.Factory) *cobra.Command { return coverage.New(f, rollback.Unfinished) },
	func(f *term.Factory) *cobra.Command {
		return doctor.New(f, doctor.Rollbacks{Unfinished: rollback.Unfinished, Replaced: rollback.Replaced}, &prove.Proof{Image: verify.Image})
	},
	status.NewTimeline,
	status.NewWhy,
	preview.New,
	simulate.New,
	report.New,

	// GroupAct
	snapshot.New,
	restore.New,
	verify.New,
	rollback.New,
	hold.New,
	hold.NewUnhold,
	hold.NewRelease,
	confirm.New,
	suspend.New,
	suspend.NewResume,
	migrate.New,

	// Hidden
	newVersion,
	verify.NewReadData,
	prove.NewProveData,
}

// newVersion is for those who look for --version among the commands, where kubectl has it.
func newVersion(f *term.Factory) *cobra.Command {
	return &cobra.Command{
		Use: "version", Hidden: true, Args: cobra.NoArgs, Short: "Print the version, as --version does",
		Run: func(*cobra.Command, []string) { fmt.Fprintln(f.Out, "kubectl-snapsched "+version.Get().String()) },
	}
}

// NewCommand returns the root command.
func NewCommand(streams genericiooptions.IOStreams, c clock.PassiveClock) *cobra.Command {
	return newRoot(&term.Factory{IOStreams: streams, Config: genericclioptions.NewConfigFlags(true), Clock: c})
}

func newRoot(f *term.Factory) *cobra.Command {
	f.Out, f.ErrOut = term.Terminal{Writer: f.Out}, term.Terminal{Writer: f.ErrOut}
	root := &cobra.Command{
		Use:   "kubectl-snapsched",
		Short: "See, explain and control snapshot schedules",
		Long: "See, explain and control the VolumeSnapshots of SnapshotSchedules. The answers are the operator's own\n" +
			"decisions, made here from live objects.",
		Version:           version.Get().String(),
		Annotations:       map[string]string{cobra.CommandDisplayNameAnnotation: term.Name},
		SilenceErrors:     true,
		SilenceUsage:      true,
		DisableAutoGenTag: true,
	}
	root.SetVersionTemplate("kubectl-snapsched {{.Version}}\n")
	root.CompletionOptions.HiddenDefaultCmd = true // kubectl calls kubectl_complete-snapsched instead
	root.SetIn(f.In)
	root.SetOut(f.Out)
	root.SetErr(f.ErrOut)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if text := err.Error(); strings.Contains(text, "'w' in -") || strings.HasSuffix(text, "--watch") {
			err = fmt.Errorf("%w: nothing is watched here; repeat it with 'watch %s'", err, cmd.CommandPath())
		}
		return fmt.Errorf("%w\nSee '%s --help' for usage", err, cmd.CommandPath())
	})
	root.AddGroup(&cobra.Group{ID: term.GroupShow, Title: "Inspect:"}, &cobra.Group{ID: term.GroupAct, Title: "Change:"})
	f.Config.AddFlags(root.PersistentFlags())
	for _, newCommand := range commands {
		cmd := newCommand(f)
		root.AddCommand(cmd)
		f.CompleteByName(cmd)
		term.TakeTypes(cmd)
		f.NameRights(cmd)
	}
	f.CompleteFlags(root)
	term.AddExitCodes(root)
	term.WrapHelp(root, term.WidthOf(f.Out))
	return root
}

// Run runs the program and returns its exit code.
func Run(ctx context.Context, args []string, streams genericiooptions.IOStreams, c clock.PassiveClock) int {
	root := NewCommand(streams, c)
	return term.UntilInterrupted(ctx, func() int { return term.Execute(ctx, root, args) })
}
