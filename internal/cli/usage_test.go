// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
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

// kubectl's own flags and texts are in the help as well.
func TestHelpFitsItsWidth(t *testing.T) {
	t.Setenv("COLUMNS", "80")
	var out bytes.Buffer
	streams := genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &out, ErrOut: &out}
	for _, cmd := range NewCommand(streams, clock.RealClock{}).Commands() {
		out.Reset()
		if code := Run(t.Context(), []string{cmd.Name(), "--help"}, streams, clock.RealClock{}); code != 0 {
			t.Fatalf("%s: exit code %d", cmd.Name(), code)
		}
		shown := out.String()
		for line := range strings.Lines(shown[:strings.Index(shown, "Usage:")] + shown[strings.Index(shown, "\nFlags:"):]) {
			if len(strings.TrimSuffix(line, "\n")) > 80 {
				t.Errorf("%s: %d columns: %s", cmd.Name(), len(line), line)
			}
		}
	}
}

// Where nothing is known, a shell offers the files of the folder.
func TestShellsOfferFilesOnlyWhereTheyAreMeant(t *testing.T) {
	streams := genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &bytes.Buffer{}, ErrOut: &bytes.Buffer{}}
	for _, cmd := range NewCommand(streams, clock.RealClock{}).Commands() {
		if cmd.Name() == "help" || cmd.Name() == "completion" {
			continue
		}
		if cmd.ValidArgsFunction == nil && len(cmd.ValidArgs) == 0 {
			t.Errorf("%s: its arguments are completed with files", cmd.Name())
		}
		cmd.LocalNonPersistentFlags().VisitAll(func(flag *pflag.Flag) {
			_, known := cmd.GetFlagCompletionFunc(flag.Name)
			if files := flag.Annotations[cobra.BashCompFilenameExt] != nil; known == files {
				t.Errorf("%s: --%s: completes names %t, files %t", cmd.Name(), flag.Name, known, files)
			}
		})
	}
}

func TestMistakesAreAnsweredWithWhatIsMeant(t *testing.T) {
	for line, want := range map[string]string{
		"stauts":                              `error: unknown command "stauts" for "kubectl snapsched": did you mean status?` + "\n",
		"ls":                                  `error: unknown command "ls" for "kubectl snapsched": did you mean list?` + "\n",
		"version":                             "kubectl-snapsched devel",
		"status -w":                           "'watch kubectl snapsched status'",
		"why":                                 "error: specify SNAPSHOT: kubectl snapsched why SNAPSHOT [flags]\n",
		"snapshot nightly --wait ready":       "error: specify one SnapshotSchedule, not 2; what to wait for is written with =: --wait=ready\n",
		"restore --schedule s --to {name}-r":  "error: unknown placeholder {name} in --to: use {pvc} or {snapshot}\n",
		"--server https://127.0.0.1:1 status": "The connection to the server 127.0.0.1:1 was refused - did you specify the right host or port?\n",
	} {
		t.Run(line, func(t *testing.T) {
			var out bytes.Buffer
			streams := genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &out, ErrOut: &out}
			code := Run(t.Context(), strings.Fields(line), streams, clock.RealClock{})
			if got := out.String(); !strings.Contains(got, want) || (code == term.ExitError) == (line == "version") {
				t.Errorf("exit code %d: %s", code, got)
			}
		})
	}
}
