// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package stage

import (
	"os/exec"
	"syscall"
	"time"
)

// Process is a child of this program.
type Process struct {
	cmd *exec.Cmd
	// Done is closed when it has ended; then Err says how.
	Done chan struct{}
	Err  error
}

func start(cmd *exec.Cmd) (*Process, error) {
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &Process{cmd: cmd, Done: make(chan struct{})}
	go func() {
		p.Err = cmd.Wait()
		close(p.Done)
	}()
	return p, nil
}

// Stop asks it to end, kills it when the grace is over, and returns when it is gone.
func (p *Process) Stop(grace time.Duration) {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.Done:
		return
	case <-time.After(grace):
	}
	_ = p.cmd.Process.Kill()
	<-p.Done
}
