// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package child ties child processes to this one: on Linux, the kernel kills them when it ends for any reason.
package child

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
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

const envProgram = "SNAPSCHED_CHILD_"

// Wrapped returns a path in a folder at which a library that chooses a child's attributes itself can start a program, so
// that it dies with this process. It is a link to this program, which Exec continues as the other one.
func Wrapped(dir, program string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	link := filepath.Join(dir, filepath.Base(program))
	if err := os.Symlink(self, link); err != nil {
		return "", err
	}
	return link, os.Setenv(envProgram+filepath.Base(program), program)
}

// Exec continues as the program for which Wrapped made the path of this process, if it did.
func Exec() {
	variable := envProgram + filepath.Base(os.Args[0])
	program := os.Getenv(variable)
	if program == "" {
		return
	}
	err := errors.Join(os.Unsetenv(variable), unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0))
	if err == nil {
		err = unix.Exec(program, os.Args, os.Environ())
	}
	fmt.Fprintln(os.Stderr, "start", program+":", err)
	os.Exit(1)
}
