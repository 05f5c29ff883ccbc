// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package proc starts, recognises and stops the processes of a cluster.
package proc

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
)

// Command is a process to start in a session of its own, so that a Ctrl-C in
// the terminal reaches this program and not its children.
type Command struct {
	Name string
	Path string
	Args []string
	Dir  string
	Log  string
	// DieWithParent has the kernel kill the process when this program dies,
	// however it dies (Linux only).
	DieWithParent bool
	// Namespaces are flags of clone(2) (Linux only).
	Namespaces uintptr
	// Files become the descriptors 3, 4, ...
	Files []*os.File
}

// Process is a child of this program.
type Process struct {
	Ref
	// Done is closed when the process has ended; then Err says how.
	Done chan struct{}
	Err  error
}

// spawner runs functions on one OS thread that lives as long as the program:
// Linux delivers the parent-death signal when the thread that started the
// child ends, and Go may end threads.
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

// OnLastingThread starts a command whose parent-death signal must not fire early.
func OnLastingThread(cmd *exec.Cmd) error {
	result := make(chan error)
	spawner() <- func() { result <- cmd.Start() }
	return <-result
}

// Start starts the command with its output going to its log file.
func Start(c Command) (*Process, error) {
	log, err := os.OpenFile(c.Log, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(c.Path, c.Args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = c.Dir, bareEnv(), log, log
	cmd.SysProcAttr = sessionAttr(c.DieWithParent, c.Namespaces)
	cmd.ExtraFiles = c.Files
	if err := OnLastingThread(cmd); err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Name, err)
	}
	p := &Process{Ref: RefOf(cmd.Process.Pid), Done: make(chan struct{})}
	go func() {
		p.Err = cmd.Wait()
		close(p.Done)
	}()
	return p, nil
}

// bareEnv keeps the caller's environment from the cluster: a KUBECONFIG in it
// would win over a sidecar's flag and point it at somebody's real cluster, and
// ETCD_ variables would change etcd.
func bareEnv() []string {
	var env []string
	for _, name := range []string{"PATH", "HOME", "TMPDIR"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}
