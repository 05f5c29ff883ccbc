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

// GroupAttr puts a command in a process group of its own, which dies with us.
func GroupAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// ChildAttr keeps a command in our process group; it dies with us.
func ChildAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }

// SessionAttr puts a command in a session of its own, which outlives us.
func SessionAttr() *syscall.SysProcAttr { return sessionAttr(false, 0) }

// bootID tells this boot from the last: start times count from boot.
var bootID = sync.OnceValue(func() string {
	b, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(b))
})

// identity reads the start time of a process. A zombie does not run: in a
// container whose first process never reaps, it would else look alive for ever.
func identity(pid int) (id string, running bool) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", false
	}
	// The second field is the command in brackets and may hold spaces and
	// brackets itself, so count from its last bracket: state is field 3 and
	// the start time field 22.
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

// CommandName is the name of a running program, without its folder.
func CommandName(pid int) string {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	return strings.TrimSpace(string(b))
}
