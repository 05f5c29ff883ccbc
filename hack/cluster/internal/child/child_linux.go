// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package child ties child processes to this one: on Linux, the kernel kills them when it ends for any reason.
package child

import (
	"runtime"
	"syscall"
)

// The kernel acts when the thread that started the child ends, and the main thread ends last. So main starts every child.
func init() { runtime.LockOSThread() }

// Attr adds to the attributes of a child that it dies with this process.
func Attr(a syscall.SysProcAttr) *syscall.SysProcAttr {
	a.Pdeathsig = syscall.SIGKILL
	return &a
}

// Namespaced are the attributes of a child in mount, network and pid namespaces of its own.
func Namespaced() *syscall.SysProcAttr {
	return Attr(syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWNET | syscall.CLONE_NEWPID})
}
