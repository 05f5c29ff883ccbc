// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func TestMemoryOfThisProcess(t *testing.T) {
	m, err := MemoryOf(os.Getpid())
	if os.IsNotExist(err) {
		t.Skip("no /proc here")
	}
	if err != nil || m.Anonymous <= 0 || m.Resident < m.Anonymous || m.Peak < m.Resident {
		t.Errorf("got %+v, %v", m, err)
	}
}

func TestChildIsFoundByItsProgram(t *testing.T) {
	sleep := exec.CommandContext(t.Context(), "sleep", "600")
	if err := sleep.Start(); err != nil {
		t.Skip(err)
	}
	program, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", sleep.Process.Pid))
	if err != nil {
		t.Skip("no /proc here")
	}
	if pid, err := Child(filepath.Base(program)); err != nil || pid != sleep.Process.Pid {
		t.Errorf("got %d, %v; want %d", pid, err, sleep.Process.Pid)
	}
	if pid, err := Child("no-such-program"); err == nil {
		t.Errorf("got %d and no error", pid)
	}
	// A zombie has no memory.
	if err := sleep.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = sleep.Wait()
	if m, err := MemoryOf(sleep.Process.Pid); err == nil {
		t.Errorf("got %+v of a process that has ended", m)
	}
}
