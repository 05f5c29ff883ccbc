// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package proc

import (
	"errors"
	"syscall"
	"time"
)

// Ref names a process for good: a pid alone may be given to another process
// once the first has ended, so the time of its start goes with it.
type Ref struct {
	Pid      int    `json:"pid"`
	Identity string `json:"identity"`
}

// RefOf names the process that has this pid now.
func RefOf(pid int) Ref {
	id, _ := identity(pid)
	return Ref{Pid: pid, Identity: id}
}

// Alive tells whether that very process still runs.
func (r Ref) Alive() bool {
	if r.Pid <= 1 || r.Identity == "" {
		return false
	}
	id, running := identity(r.Pid)
	return running && id == r.Identity
}

// Stop asks the process to end, and kills it when the grace is over. It
// returns once the process is gone.
func (r Ref) Stop(grace time.Duration) error {
	if !r.Alive() {
		return nil
	}
	if err := r.signal(syscall.SIGTERM); err != nil {
		return err
	}
	if r.gone(grace) {
		return nil
	}
	if err := r.signal(syscall.SIGKILL); err != nil {
		return err
	}
	if !r.gone(5 * time.Second) {
		return errors.New("still there after SIGKILL")
	}
	return nil
}

func (r Ref) signal(s syscall.Signal) error {
	if err := syscall.Kill(r.Pid, s); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}

func (r Ref) gone(within time.Duration) bool {
	for end := time.Now().Add(within); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if !r.Alive() {
			return true
		}
	}
	return !r.Alive()
}
