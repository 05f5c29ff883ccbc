// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package stage

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// sleeper starts a command that holds the lock on a pid file.
func sleeper(t *testing.T, script string) (pidFile string, p *Process) {
	t.Helper()
	pidFile = filepath.Join(t.TempDir(), "pid")
	f, err := lockPid(pidFile)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	cmd := exec.Command("sh", "-c", script)
	cmd.ExtraFiles = []*os.File{f}
	if p, err = start(cmd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-p.Done
	})
	if err := os.WriteFile(pidFile, fmt.Appendln(nil, cmd.Process.Pid), 0o600); err != nil {
		t.Fatal(err)
	}
	return pidFile, p
}

func TestStopLocked(t *testing.T) {
	pidFile, p := sleeper(t, "exec sleep 60")
	if err := stopLocked(pidFile, 5*time.Second); err != nil {
		t.Fatal(err)
	}
	<-p.Done
	if err := stopLocked(pidFile, time.Second); err != nil {
		t.Errorf("once more: %v", err)
	}
}

func TestStopLockedSparesWhoDoesNotHoldTheLock(t *testing.T) {
	pidFile := filepath.Join(t.TempDir(), "pid")
	if err := os.WriteFile(pidFile, fmt.Appendln(nil, os.Getpid()), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := stopLocked(pidFile, time.Second); err != nil {
		t.Fatal(err)
	}
	if err := stopLocked(pidFile+".none", time.Second); err != nil {
		t.Errorf("no pid file, nothing to stop: %v", err)
	}
}

func TestStopLockedWithoutAPid(t *testing.T) {
	pidFile, _ := sleeper(t, "exec sleep 60")
	if err := os.WriteFile(pidFile, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := stopLocked(pidFile, time.Second); err == nil || !strings.Contains(err.Error(), "holds no pid") {
		t.Errorf("got %v", err)
	}
}

func TestOnlyOneIsKept(t *testing.T) {
	root := t.TempDir()
	s, err := Kept(root)
	if err != nil || !s.Keep {
		t.Fatal(s, err)
	}
	if _, err := Kept(root); !errors.Is(err, ErrKept) {
		t.Errorf("got %v", err)
	}
	for _, want := range []bool{true, false} {
		if was, err := Down(root); err != nil || was != want {
			t.Errorf("Down is %v, %v", was, err)
		}
	}
}

func TestTemporaryStagesAreApart(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	one, err := Temporary("root")
	if err != nil {
		t.Fatal(err)
	}
	other, err := Temporary("root")
	if err != nil || one.Dir == other.Dir || one.Keep {
		t.Errorf("%+v, %+v, %v", one, other, err)
	}
	if err := errors.Join(one.Close(), one.Remove()); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(one.Dir); err == nil {
		t.Error("it is still there")
	}
}

func TestFindRoot(t *testing.T) {
	root := t.TempDir()
	deep := filepath.Join(root, "hack", "cluster", "internal")
	if err := os.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(deep)
	if _, err := FindRoot(); err == nil {
		t.Error("there is no repository here")
	}
	if err := os.WriteFile(filepath.Join(root, "hack", "cluster", "go.mod"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := FindRoot(); err != nil || filepath.Base(got) != filepath.Base(root) {
		t.Errorf("%s, %v", got, err)
	}
}
