// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package proc

import (
	"errors"
	"syscall"
	"time"
)

// Identity identifies a process across reuse of its pid: it includes the
// process's start time.
type Identity struct {
	Pid       int    `json:"pid"`
	StartTime string `json:"startTime"`
}

// IdentityOf returns the identity of the process that has this pid now.
func IdentityOf(pid int) Identity {
	start, _ := startTime(pid)
	return Identity{Pid: pid, StartTime: start}
}

// Alive returns whether the process still runs.
func (i Identity) Alive() bool {
	if i.Pid <= 1 || i.StartTime == "" {
		return false
	}
	start, running := startTime(i.Pid)
	return running && start == i.StartTime
}

// Stop sends SIGTERM, and SIGKILL after the grace period. It returns when the
// process has exited.
func (i Identity) Stop(grace time.Duration) error {
	for _, attempt := range []struct {
		signal syscall.Signal
		wait   time.Duration
	}{{syscall.SIGTERM, grace}, {syscall.SIGKILL, 5 * time.Second}} {
		if !i.Alive() {
			return nil
		}
		if err := syscall.Kill(i.Pid, attempt.signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return err
		}
		for end := time.Now().Add(attempt.wait); i.Alive() && time.Now().Before(end); {
			time.Sleep(10 * time.Millisecond)
		}
	}
	if i.Alive() {
		return errors.New("still running after SIGKILL")
	}
	return nil
}
