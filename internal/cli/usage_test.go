// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"

	"mapcontroller.dev/snapshotschedule/internal/cli/term"
)

// A pipeline tells a wrong command line from what a command finds, and from time that is up.
//
// Contract: CLI-21.
func TestWrongUsageEndsWithTwo(t *testing.T) {
	streams := genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &bytes.Buffer{}, ErrOut: &bytes.Buffer{}}
	for _, cmd := range NewCommand(streams, clock.RealClock{}).Commands() {
		if cmd.Hidden || cmd.Name() == "help" || cmd.Name() == "completion" {
			continue
		}
		t.Run(cmd.Name(), func(t *testing.T) {
			if code := Run(t.Context(), []string{cmd.Name(), "--no-such-flag"}, streams, clock.RealClock{}); code != term.ExitError {
				t.Errorf("exit code %d", code)
			}
		})
	}
}
