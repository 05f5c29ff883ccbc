// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
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
	newReportCommand,

	// GroupAct
	newSnapshotCommand,
	newRestoreCommand,
	newVerifyCommand,
	newRollbackCommand,
	newHoldCommand,
	newUnholdCommand,
	newReleaseCommand,
	newConfirmCommand,
	newMigrateCommand,

	// Hidden
	newReadDataCommand,
}

// NewCommand returns the root command.
func NewCommand(streams genericiooptions.IOStreams, c clock.PassiveClock) *cobra.Command {
	return newRoot(&Factory{IOStreams: streams, Config: genericclioptions.NewConfigFlags(true), Clock: c})
}

func newRoot(f *Factory) *cobra.Command {
	f.Out, f.ErrOut = terminal{Writer: f.Out}, terminal{Writer: f.ErrOut}
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
	root := NewCommand(streams, c)
	return untilInterrupted(ctx, func() int { return execute(ctx, root, args) })
}

// execute runs a command and prints its error.
func execute(ctx context.Context, root *cobra.Command, args []string) int {
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err != nil {
		message, interrupted := messageOf(err), ctx.Err() != nil
		if interrupted {
			message = interruptedMessage(ctx, err)
		}
		if message != "" {
			// An error may contain line breaks that others wrote. Indented, no line passes for the plugin's.
			fmt.Fprintln(root.ErrOrStderr(), strings.ReplaceAll(message, "\n", "\n  "))
		}
		if interrupted {
			return ExitInterrupted
		}
	}
	if code := exitCode(err); code != ExitError || cmd.Annotations[failsWith] == "" {
		return code
	}
	code, _ := strconv.Atoi(cmd.Annotations[failsWith])
	return code
}

// failsWith is the annotation of a command that ends with another exit code than ExitError.
const failsWith = "failsWith"

// Exit codes.
const (
	// ExitFound means that a command found what a flag such as --fail-on-gaps asked
	// it to look for. The output says what.
	ExitFound = 1
	// ExitError means that the command failed, or was called incorrectly.
	ExitError = 2
	// ExitTimeout means that what a command waits for has not come in time, or that it could not find out
	// what it was asked for.
	ExitTimeout = 3
	// ExitInterrupted means that a signal ended the command, as shells have it for Ctrl-C.
	ExitInterrupted = 130
)

// errTimeout ends a command with ExitTimeout.
var errTimeout = errors.New("timed out")

// ErrFound ends a command with ExitFound. The command has printed what it found.
var ErrFound = errors.New("found")

// failure is an error that ends a command with ExitFound.
type failure struct{ error }

func (e failure) Unwrap() error { return e.error }

// failed ends a command with ExitFound: what it was asked for was refused, or failed.
func failed(err error) error { return failure{err} }

func exitCode(err error) int {
	switch {
	case err == nil:
		return 0
	case errors.Is(err, ErrFound), errors.As(err, new(failure)):
		return ExitFound
	case errors.Is(err, errTimeout), errors.Is(err, errInconclusive):
		return ExitTimeout
	}
	return ExitError
}

// messageOf returns an error as kubectl prints it; empty if there is nothing to say.
func messageOf(err error) string {
	var status apierrors.APIStatus
	var noKind *meta.NoKindMatchError
	var noResource *meta.NoResourceMatchError
	switch {
	case errors.Is(err, ErrFound):
		return ""
	case errors.As(err, &noKind):
		return missingKind(noKind.GroupKind.Group, noKind.GroupKind.Kind)
	case errors.As(err, &noResource):
		return missingKind(noResource.PartialResource.Group, noResource.PartialResource.Resource)
	case errors.As(err, &status) && status.Status().Reason != "":
		// A Forbidden's message names the user, the verb and the resource.
		return fmt.Sprintf("Error from server (%s): %s", status.Status().Reason, err)
	}
	return fmt.Sprintf("error: %s", err)
}

// missingKind says what to install for a kind that the cluster does not have.
func missingKind(group, kind string) string {
	text := fmt.Sprintf("error: the server doesn't have the kind %s", schema.GroupKind{Group: group, Kind: kind})
	switch group {
	case v1alpha1.GroupName:
		return text + ": install the SnapshotSchedule operator and its CustomResourceDefinitions first"
	case snapshotv1.GroupName:
		return text + ": install the CSI snapshot CustomResourceDefinitions and the snapshot controller first"
	}
	return text
}
