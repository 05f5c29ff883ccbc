// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/term"

	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/cluster"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/proc"
)

// runCommand runs the user's command and forwards signals to it. It returns the
// command's exit code as an exitError.
func runCommand(c *cluster.Cluster, workDir string, args []string, sigs <-chan os.Signal, w *watchdog) error {
	// Set for this process too, so that "run -- kubectl" finds the cluster's kubectl.
	for _, v := range clusterEnv(c.Dir, c.State) {
		if err := os.Setenv(v[0], v[1]); err != nil {
			return err
		}
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = workDir
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	// On a terminal, the command stays in this process group: it can then read from
	// the terminal and receives Ctrl-C from it. Elsewhere it gets its own group, so
	// that signals reach its children too.
	interactive := term.IsTerminal(int(os.Stdin.Fd()))
	cmd.SysProcAttr = proc.GroupAttr()
	if interactive {
		cmd.SysProcAttr = proc.ChildAttr()
	}
	if err := proc.StartOnLastingThread(cmd); err != nil {
		return fmt.Errorf("start %s: %w", args[0], err)
	}
	target := cmd.Process.Pid
	if !interactive {
		target = -target
		w.watchGroup(cmd.Process.Pid)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	componentExited := c.Exited(ctx)
	commandExited := make(chan error, 1)
	go func() { commandExited <- cmd.Wait() }()
	for {
		select {
		case err := <-commandExited:
			w.watchGroup(0)
			return exitCode(err)
		case s := <-sigs:
			fromTerminal := s == syscall.SIGINT || s == syscall.SIGQUIT
			if !interactive || !fromTerminal {
				_ = syscall.Kill(target, s.(syscall.Signal))
			}
		case name := <-componentExited:
			// Not fatal: the command may test exactly this.
			fmt.Fprintln(os.Stderr, "warning:", c.ExitError(name))
		}
	}
}

// exitCode converts the error of a command into an exitError.
func exitCode(err error) error {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return err
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return exitError(128 + int(status.Signal()))
	}
	return exitError(exit.ExitCode())
}
