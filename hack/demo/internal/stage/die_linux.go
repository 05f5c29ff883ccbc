// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package stage

import (
	"runtime"
	"syscall"
)

// The parent-death signal comes when the thread that started the child ends.
// The main goroutine, on which the demo is played, stays on the main thread,
// which lives as long as the program.
func init() { runtime.LockOSThread() }

// dieWithParent has a child die with this program, however it ends.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
