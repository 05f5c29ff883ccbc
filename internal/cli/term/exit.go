// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package term

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"syscall"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

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

var (
	// ErrTimeout ends a command with ExitTimeout.
	ErrTimeout error = ending{errors.New("timed out"), ExitTimeout}
	// ErrInconclusive ends a command whose drills have shown nothing, with ExitTimeout.
	ErrInconclusive error = ending{errors.New("inconclusive"), ExitTimeout}
	// ErrFound ends a command with ExitFound. The command has printed what it found.
	ErrFound error = ending{errors.New("found"), ExitFound}
)

// ending is an error that ends a command with another exit code than ExitError.
type ending struct {
	error
	code int
}

func (e ending) Unwrap() error { return e.error }

// Failed ends a command with ExitFound: what it was asked for was refused, or failed. What there was no time for was neither.
func Failed(err error) error {
	if errors.Is(err, ErrTimeout) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return ending{err, ExitFound}
}

// Execute runs a command and prints its error.
func Execute(ctx context.Context, root *cobra.Command, args []string) int {
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err != nil {
		message, interrupted := MessageOf(err), ctx.Err() != nil
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
	if code := ExitCode(err); code != ExitError || cmd.Annotations[FailsWith] == "" {
		return code
	}
	code, _ := strconv.Atoi(cmd.Annotations[FailsWith])
	return code
}

// FailsWith is the annotation of a command that ends with another exit code than ExitError.
const FailsWith = "failsWith"

// ExitCode returns how a command ends that returns an error. Of several errors it is the first code that applies: an error, what was
// found, time that is up.
func ExitCode(err error) int {
	codes := map[int]bool{}
	addCodes(err, codes)
	for _, code := range []int{ExitError, ExitFound, ExitTimeout} {
		if codes[code] {
			return code
		}
	}
	return 0
}

// addCodes adds the exit codes of all errors that are joined in one.
func addCodes(err error, codes map[int]bool) {
	switch e := any(err).(type) {
	case nil:
	case ending:
		codes[e.code] = true
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			addCodes(one, codes)
		}
	case interface{ Unwrap() error }:
		if inner := e.Unwrap(); inner != nil {
			addCodes(inner, codes)
			return
		}
		codes[ExitError] = true
	default:
		codes[ExitError] = true
	}
}

// Ends says when a command ends with ExitFound and with ExitTimeout; empty for one that it does not end with.
func Ends(cmd *cobra.Command, found, late string) {
	annotate(cmd, strconv.Itoa(ExitFound), found)
	annotate(cmd, strconv.Itoa(ExitTimeout), late)
}

// AddExitCodes lists the exit codes in the help of each command.
func AddExitCodes(root *cobra.Command) {
	for _, cmd := range root.Commands() {
		codes := []string{"0 done"}
		for _, one := range []struct {
			code  int
			words string
		}{
			{ExitFound, cmd.Annotations[strconv.Itoa(ExitFound)]}, {ExitError, "an error, or wrong usage"},
			{ExitTimeout, cmd.Annotations[strconv.Itoa(ExitTimeout)]}, {ExitInterrupted, "interrupted"},
		} {
			if one.words != "" {
				codes = append(codes, fmt.Sprintf("%d %s", one.code, one.words))
			}
		}
		cmd.Long += "\n\nExit codes: " + strings.Join(codes, "; ") + "."
	}
}

// MessageOf returns an error as kubectl prints it; empty if there is nothing to say.
func MessageOf(err error) string {
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
	whole := err.Error()
	var connection *net.OpError
	if asked := new(url.Error); errors.As(err, &asked) && errors.As(err, &connection) {
		before, after, _ := strings.Cut(whole, asked.Error()) // what was done, and how to go on
		if whole = before + unreachable(asked.URL, connection) + after; before == "" {
			return whole
		}
	}
	text, suggested, found := strings.Cut(whole, "\n\nDid you mean this?\n")
	if found {
		text += ": did you mean " + strings.Join(strings.Fields(suggested), " or ") + "?"
	}
	return "error: " + text
}

// unreachable says that there is no connection to a server, as kubectl does.
func unreachable(address string, err error) string {
	if at, _ := url.Parse(address); at != nil && errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Sprintf("The connection to the server %s was refused - did you specify the right host or port?", at.Host)
	}
	return "Unable to connect to the server: " + err.Error()
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
