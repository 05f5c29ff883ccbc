// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"os/exec"
	"syscall"
	"testing"
)

func TestExitCodeIsTheCommands(t *testing.T) {
	for script, want := range map[string]int{"exit 7": 7, "kill -TERM $$": 128 + int(syscall.SIGTERM)} {
		var code exitError
		if err := exitCode(exec.Command("sh", "-c", script).Run()); !errors.As(err, &code) || int(code) != want {
			t.Errorf("%s: %v, want %d", script, err, want)
		}
	}
	if err := exitCode(nil); err != nil {
		t.Error(err)
	}
	for _, args := range [][]string{{"unknown"}, {"run", "kubectl", "get", "ns"}, {"env", "--dir", t.TempDir()}} {
		if got := run(args); got != 1 {
			t.Errorf("%q exits with %d", args, got)
		}
	}
}

func TestQuotedWordsAreWords(t *testing.T) {
	const word = `it's $(exit 1) "x"`
	if out, err := exec.Command("sh", "-c", "printf %s "+quote(word)).Output(); err != nil || string(out) != word {
		t.Errorf("got %q, %v", out, err)
	}
}
