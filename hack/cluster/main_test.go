// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/cluster"
)

func TestPrependPathPutsTheFolderFirstOnce(t *testing.T) {
	if got := prependPath("/b", "/a:/b:/c"); got != "/b:/a:/c" {
		t.Errorf("got %s", got)
	}
}

func TestPathsAreRelativeToTheRepository(t *testing.T) {
	// A test's working directory is the source folder, as with "go -C hack/cluster run .".
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	got, err := absPath("x")
	if want := filepath.Join(wd, "..", "..", "x"); err != nil || got != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
	dir := t.TempDir()
	t.Chdir(dir)
	if got, err := absPath("x"); err != nil || got != filepath.Join(dir, "x") {
		t.Errorf("in another folder: got %s, %v", got, err)
	}
	if got, _ := absPath("/x/../y"); got != "/y" {
		t.Errorf("absolute path: got %s", got)
	}
}

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
	if got := run([]string{"unknown"}); got != 1 {
		t.Errorf("an unknown command exits with %d", got)
	}
	if got := run([]string{"env", "--dir", t.TempDir()}); got != 1 {
		t.Errorf("env without a cluster exits with %d", got)
	}
}

func TestRunRequiresDashes(t *testing.T) {
	if got := run([]string{"run", "kubectl", "get", "ns"}); got != 1 {
		t.Errorf("exit code %d", got)
	}
}

func TestWatchdogCleansUpUnlessReleased(t *testing.T) {
	dir := t.TempDir()
	if err := runWatchdog(strings.NewReader("0\n"+releaseMessage+"\n"), cluster.Dir(dir), true); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); err != nil {
		t.Error("a released watchdog removed the folder")
	}

	child := exec.Command("sh", "-c", "sleep 60 & wait")
	child.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	read, write := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- runWatchdog(read, cluster.Dir(dir), true) }()
	(&watchdog{pipe: write}).watchGroup(child.Process.Pid)
	_ = write.Close()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = child.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(5 * time.Second):
		t.Error("the command still runs")
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Error("the folder still exists")
	}
}
