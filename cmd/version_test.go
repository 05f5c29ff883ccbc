// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mapcontroller.dev/snapshotschedule/internal/version"
)

// The version is what a test binary has: nothing is stamped into either of them.
func TestVersion(t *testing.T) {
	manager := filepath.Join(t.TempDir(), "manager")
	build := exec.Command("go", "build", "-buildvcs=false", "-o", manager, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as in the image
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	want := version.Get()

	t.Run("flag --version prints it and exits", func(t *testing.T) {
		out, err := exec.Command(manager, "--version").Output()
		if got := string(out); err != nil || got != "snapshotschedule "+want.String()+"\n" {
			t.Errorf("got %q, error %v", got, err)
		}
	})

	t.Run("the first line of the log has it, even if the manager cannot start", func(t *testing.T) {
		cmd := exec.Command(manager, "--kubeconfig", filepath.Join(t.TempDir(), "missing"))
		var log bytes.Buffer
		cmd.Stderr = &log
		if err := cmd.Run(); err == nil {
			t.Fatal("the manager started without a kubeconfig")
		}
		first, _, _ := strings.Cut(log.String(), "\n")
		var line map[string]any
		if err := json.Unmarshal([]byte(first), &line); err != nil {
			t.Fatalf("%v: %s", err, first)
		}
		if line["version"] != want.Version || line["revision"] != want.Revision || line["goVersion"] != want.GoVersion {
			t.Errorf("the first line is %s", first)
		}
	})
}
