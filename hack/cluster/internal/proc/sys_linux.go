// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package proc

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
)

func sessionAttr(dieWithParent bool, namespaces uintptr) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setsid: true, Cloneflags: namespaces}
	if dieWithParent {
		attr.Pdeathsig = syscall.SIGKILL
	}
	return attr
}

// GroupAttr starts a command in its own process group and kills it when this
// process exits.
func GroupAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// ChildAttr starts a command in this process group and kills it when this process
// exits.
func ChildAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }

// SessionAttr starts a command in its own session, where it outlives this process.
func SessionAttr() *syscall.SysProcAttr { return sessionAttr(false, 0) }

// bootID distinguishes boots, because start times are relative to the boot.
var bootID = sync.OnceValue(func() string {
	b, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(b))
})

// startTime returns a process's start time and whether it runs. A zombie does not
// run: in a container whose init process does not reap, it would stay forever.
func startTime(pid int) (start string, running bool) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", false
	}
	// Field 2 is the command in parentheses, which can itself contain spaces and
	// parentheses. Count from the last one: the state is field 3 and the start
	// time is field 22.
	end := bytes.LastIndexByte(b, ')')
	if end < 0 {
		return "", false
	}
	f := strings.Fields(string(b[end+1:]))
	if len(f) < 20 {
		return "", false
	}
	return bootID() + "/" + f[19], f[0] != "Z" && f[0] != "X"
}

// CommandName returns the base name of a running program.
func CommandName(pid int) string {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	return strings.TrimSpace(string(b))
}
