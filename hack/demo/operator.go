// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// operator is the manager as a child process.
type operator struct {
	dir   string // of the cluster
	keep  bool   // it outlives this program
	pid   int
	ended chan struct{} // closed when it ends; nil while it may
}

func (o *operator) log() string { return filepath.Join(o.dir, "logs", "operator.log") }

func (o *operator) start() error {
	log, err := os.OpenFile(o.log(), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	cmd := exec.Command("bin/manager", "--health-probe-bind-address=0", "--status-interval=1s")
	cmd.Stdout, cmd.Stderr = log, log
	if !o.keep {
		// Through a pipe: if this program is killed, SIGPIPE ends the operator.
		cmd.Stdout = struct{ io.Writer }{log}
		cmd.Stderr = cmd.Stdout
	}
	// A session of its own keeps Ctrl-C away from it: this program ends it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	o.pid, o.ended = cmd.Process.Pid, ended
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	// demo.sh reads it to stop an operator that was kept.
	return os.WriteFile(filepath.Join(o.dir, "operator.pid"), fmt.Appendln(nil, o.pid), 0o600)
}

// kill ends the operator with SIGKILL and waits for its end.
func (o *operator) kill() {
	if o.ended != nil {
		_ = syscall.Kill(o.pid, syscall.SIGKILL)
		<-o.ended
		o.ended = nil
	}
}
