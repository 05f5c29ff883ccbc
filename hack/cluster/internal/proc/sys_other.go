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

// Only Linux has a parent-death signal. Elsewhere the watchdog alone cleans up
// after a SIGKILL.
func sessionAttr(bool, uintptr) *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// GroupAttr starts a command in its own process group.
func GroupAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// ChildAttr starts a command in this process group.
func ChildAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }

// SessionAttr starts a command in its own session, where it outlives this process.
func SessionAttr() *syscall.SysProcAttr { return sessionAttr(false, 0) }

func startTime(pid int) (start string, running bool) {
	out, err := exec.Command("ps", "-o", "stat=,lstart=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return "", false
	}
	state, started, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	return strings.TrimSpace(started), state != "" && !strings.HasPrefix(state, "Z")
}

// CommandName returns the base name of a running program.
func CommandName(pid int) string {
	out, _ := exec.Command("ps", "-o", "comm=", "-p", strconv.Itoa(pid)).Output()
	return filepath.Base(strings.TrimSpace(string(out)))
}
