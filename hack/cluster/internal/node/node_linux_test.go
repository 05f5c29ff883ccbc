// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestRemoveTreeRemovesFoldersOnly(t *testing.T) {
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "cgroup", "a", "b"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := removeTree(filepath.Join(root, "cgroup")); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(root, "cgroup")); err == nil {
		t.Error("the folder still exists")
	}
	if err := removeTree(filepath.Join(root, "missing")); err != nil {
		t.Errorf("removing a missing folder: %v", err)
	}
}

func TestRemoveCgroupIgnoresAnEmptyName(t *testing.T) {
	if err := RemoveCgroup(""); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(cgroupRoot); err != nil || len(entries) == 0 {
		t.Errorf("%s has %d entries, %v", cgroupRoot, len(entries), err)
	}
}

func TestCheckNamesWhatIsMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	err := Check(t.TempDir(), nil)
	want := "runc"
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
	if err := Check("/run/user/0/cluster", nil); err == nil || !strings.Contains(err.Error(), "/run") {
		t.Errorf("err = %v", err)
	}
	if err := Check("/running", nil); err != nil {
		t.Errorf("/running is not in /run: %v", err)
	}
}

func TestAddSbinToPathAddsEachFolderOnce(t *testing.T) {
	t.Setenv("PATH", "/bin:/usr/sbin")
	if err := AddSbinToPath(); err != nil {
		t.Fatal(err)
	}
	if got := os.Getenv("PATH"); got != "/bin:/usr/sbin:/usr/local/sbin:/sbin" {
		t.Errorf("PATH=%s", got)
	}
}

// RunInit reaps every child of its process, so each case runs it in a new one.
func TestRunInitEndsWithItsMainProcessOrASignal(t *testing.T) {
	if script := os.Getenv("TEST_RUN_INIT"); script != "" {
		if err := RunInit(exec.Command("sh", "-c", script)); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	run := func(script string) (*exec.Cmd, chan error) {
		cmd := exec.Command(os.Args[0], "-test.run=^TestRunInit")
		cmd.Env = append(os.Environ(), "TEST_RUN_INIT="+script)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		return cmd, ended
	}
	if _, ended := run("exit 0"); <-ended != nil {
		t.Error("failed though its main process succeeded")
	}
	if _, ended := run("exit 3"); <-ended == nil {
		t.Error("succeeded though its main process failed")
	}
	marker := filepath.Join(t.TempDir(), "up")
	cmd, ended := run("touch " + marker + "; exec sleep 5")
	for _, err := os.Stat(marker); err != nil; _, err = os.Stat(marker) {
		time.Sleep(5 * time.Millisecond)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("after a signal: %v", err)
		}
	case <-time.After(4 * time.Second):
		t.Error("it ignored the signal")
	}
}
