// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package proc starts, identifies and stops the processes of a cluster.
package proc

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
)

// Command is a process to start in its own session, so that Ctrl-C in the
// terminal reaches this program and not its children.
type Command struct {
	Name string
	Path string
	Args []string
	Dir  string
	Log  string
	// DieWithParent makes the kernel kill the process when this program exits
	// for any reason (Linux only).
	DieWithParent bool
	// Namespaces are flags of clone(2) (Linux only).
	Namespaces uintptr
	// Files become file descriptors 3, 4, …
	Files []*os.File
}

// Process is a child of this program.
type Process struct {
	Identity
	// Done is closed when the process has exited. Err is then valid.
	Done chan struct{}
	Err  error
}

// spawner runs functions on one OS thread that never exits. Linux sends the
// parent-death signal when the thread that started the child exits, and the Go
// runtime may end threads.
var spawner = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go func() {
		runtime.LockOSThread()
		for f := range work {
			f()
		}
	}()
	return work
})

// StartOnLastingThread starts a command that has a parent-death signal.
func StartOnLastingThread(cmd *exec.Cmd) error {
	result := make(chan error)
	spawner() <- func() { result <- cmd.Start() }
	return <-result
}

// Start starts the command and writes its output to its log file.
func Start(c Command) (*Process, error) {
	log, err := os.OpenFile(c.Log, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(c.Path, c.Args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = c.Dir, minimalEnv(), log, log
	cmd.SysProcAttr = sessionAttr(c.DieWithParent, c.Namespaces)
	cmd.ExtraFiles = c.Files
	if err := StartOnLastingThread(cmd); err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Name, err)
	}
	p := &Process{Identity: IdentityOf(cmd.Process.Pid), Done: make(chan struct{})}
	go func() {
		p.Err = cmd.Wait()
		close(p.Done)
	}()
	return p, nil
}

// minimalEnv leaves out most of the caller's environment: KUBECONFIG would
// override a sidecar's flag and point it at another cluster, and ETCD_* variables
// would configure etcd.
func minimalEnv() []string {
	var env []string
	for _, name := range []string{"PATH", "HOME", "TMPDIR"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}
