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

	"mapcontroller.dev/snapshotschedule/internal/version"
)

// Name is the command as a user types it.
const Name = "kubectl snapsched"

// The groups of commands in the help.
const (
	GroupShow = "show"
	GroupAct  = "act"
)

// commands are the constructors of all commands, one a file.
var commands = []func(*Factory) *cobra.Command{
	// GroupShow
	newStatusCommand,
	newCoverageCommand,
	newTimelineCommand,
	newWhyCommand,
	newPreviewCommand,

	// GroupAct
	newSnapshotCommand,
	newRestoreCommand,
	newHoldCommand,
	newUnholdCommand,
	newReleaseCommand,
	newMigrateCommand,
}

// NewCommand returns the root command.
func NewCommand(streams genericiooptions.IOStreams, c clock.PassiveClock) *cobra.Command {
	return newRoot(&Factory{IOStreams: streams, Config: genericclioptions.NewConfigFlags(true), Clock: c})
}

func newRoot(f *Factory) *cobra.Command {
	f.Out, f.ErrOut = terminal{f.Out}, terminal{f.ErrOut}
	root := &cobra.Command{
		Use:   "kubectl-snapsched",
		Short: "See, explain and control snapshot schedules",
		Long: "See, explain and control the VolumeSnapshots of SnapshotSchedules. The answers are the operator's own\n" +
			"decisions, made here from live objects.",
		Version:           version.Get().String(),
		Annotations:       map[string]string{cobra.CommandDisplayNameAnnotation: Name},
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
		return fmt.Errorf("%w\nSee '%s --help' for usage", err, cmd.CommandPath())
	})
	root.AddGroup(&cobra.Group{ID: GroupShow, Title: "See and ask:"}, &cobra.Group{ID: GroupAct, Title: "Act:"})
	f.Config.AddFlags(root.PersistentFlags())
	for _, newCommand := range commands {
		root.AddCommand(newCommand(f))
	}
	f.completeFlags(root)
	return root
}

// Run runs the program and returns its exit code.
func Run(ctx context.Context, args []string, streams genericiooptions.IOStreams, c clock.PassiveClock) int {
	return execute(ctx, NewCommand(streams, c), args)
}

// execute runs a command and prints its error.
func execute(ctx context.Context, root *cobra.Command, args []string) int {
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err != nil {
		if message := messageOf(err); message != "" {
			// An error may contain line breaks that others wrote. Indented, no line passes for the plugin's.
			fmt.Fprintln(root.ErrOrStderr(), strings.ReplaceAll(message, "\n", "\n  "))
		}
	}
	return exitCode(err)
}
