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

// runCommand runs the user's command against the cluster and passes signals
// on to it. Its exit code comes back as an exitError.
func runCommand(c *cluster.Cluster, work string, args []string, sigs <-chan os.Signal, sweep *janitor) error {
	env := append(os.Environ(), environment(c.Dir, c.State)...)
	// Looked up in the new PATH, so that "run -- kubectl" finds ours.
	path, err := lookPath(args[0], c.State.Bin)
	if err != nil {
		return err
	}
	cmd := exec.Command(path, args[1:]...)
	cmd.Dir, cmd.Env = work, env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	// On a terminal the command stays in our process group, so that it may
	// read from it, and gets Ctrl-C straight from it. Elsewhere a group of its
	// own lets signals reach its children too.
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
		sweep.watchGroup(cmd.Process.Pid)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	died := c.Died(ctx)
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case err := <-ended:
			sweep.watchGroup(0)
			return commandResult(err)
		case s := <-sigs:
			fromTerminal := s == syscall.SIGINT || s == syscall.SIGQUIT
			if !interactive || !fromTerminal {
				_ = syscall.Kill(target, s.(syscall.Signal))
			}
		case name := <-died:
			// The command may well be about that, so let it find out.
			fmt.Fprintln(os.Stderr, "warning:", partEnded(c, name))
		}
	}
}

// commandResult turns the command's end into this program's.
func commandResult(err error) error {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return err
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return exitError(128 + int(status.Signal()))
	}
	return exitError(exit.ExitCode())
}

// lookPath finds a program in dir first, then in PATH.
func lookPath(name, dir string) (string, error) {
	old := os.Getenv("PATH")
	if err := os.Setenv("PATH", prepend(dir, old)); err != nil {
		return "", err
	}
	defer os.Setenv("PATH", old)
	return exec.LookPath(name)
}
