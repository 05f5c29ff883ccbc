// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"

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
	f := &Factory{IOStreams: streams, Config: genericclioptions.NewConfigFlags(true), Clock: c}
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
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.ErrOut)
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
	root := NewCommand(streams, c)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err != nil {
		if message := messageOf(err); message != "" {
			fmt.Fprintln(streams.ErrOut, message)
		}
	}
	return exitCode(err)
}
