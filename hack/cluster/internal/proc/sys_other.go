//go:build !linux

// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package proc

import (
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// There is no parent-death signal here: the janitor alone cleans up after a
// SIGKILL.
func sessionAttr(bool, uintptr) *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// GroupAttr puts a command in a process group of its own.
func GroupAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// ChildAttr keeps a command in our process group.
func ChildAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }

// SessionAttr puts a command in a session of its own, which outlives us.
func SessionAttr() *syscall.SysProcAttr { return sessionAttr(false, 0) }

func identity(pid int) (id string, running bool) {
	out, err := exec.Command("ps", "-o", "stat=,lstart=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return "", false
	}
	state, started, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	return strings.TrimSpace(started), state != "" && !strings.HasPrefix(state, "Z")
}

// CommandName is the name of a running program, without its folder.
func CommandName(pid int) string {
	out, _ := exec.Command("ps", "-o", "comm=", "-p", strconv.Itoa(pid)).Output()
	return filepath.Base(strings.TrimSpace(string(out)))
}
