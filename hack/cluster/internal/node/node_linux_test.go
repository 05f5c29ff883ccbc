// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestCheckNamesWhatIsMissing(t *testing.T) {
	defer func(saved []string) { sbin = saved }(sbin)
	sbin = nil
	t.Setenv("PATH", t.TempDir())
	err := Check(t.TempDir())
	want := "nftables runc"
	if os.Geteuid() != 0 {
		want = "root"
	}
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("err = %v, want %q in it", err, want)
	}
}

func TestCheckRejectsAMaskedFolder(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	bin := t.TempDir()
	for program := range debianPackages {
		if err := os.WriteFile(filepath.Join(bin, program), []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin)
	if err := Check("/run/user/0/cluster"); err == nil || !strings.Contains(err.Error(), "/run") {
		t.Errorf("err = %v", err)
	}
	if err := Check("/running"); err != nil {
		t.Errorf("/running is not in /run: %v", err)
	}
}

// RunInit reaps every child of its process, so each case runs it in a new one.
func TestRunInitEndsWithItsMainProcess(t *testing.T) {
	if script := os.Getenv("TEST_RUN_INIT"); script != "" {
		if err := RunInit(exec.Command("sh", "-c", script)); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	for script, fails := range map[string]bool{"exit 0": false, "exit 3": true} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestRunInit")
		cmd.Env = append(os.Environ(), "TEST_RUN_INIT="+script)
		if err := cmd.Run(); (err != nil) != fails {
			t.Errorf("%s: got %v", script, err)
		}
	}
}
