// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"os/exec"
	"testing"
	"time"
)

func TestCPUOfAnother(t *testing.T) {
	busy := exec.Command("sh", "-c", "while :; do :; done")
	busy.SysProcAttr = DieWithParent()
	if err := busy.Start(); err != nil {
		t.Skip(err)
	}
	const enough = 5 * time.Millisecond
	var used time.Duration
	var err error
	for deadline := time.Now().Add(time.Minute); used < enough && err == nil && time.Now().Before(deadline); {
		used, err = CPU(busy.Process.Pid)
	}
	if err != nil || used < enough {
		t.Errorf("got %s, %v for a busy process", used, err)
	}
	if err := busy.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = busy.Wait()
	if used, err := CPU(busy.Process.Pid); err == nil {
		t.Errorf("got %s and no error for a process that is gone", used)
	}
}
