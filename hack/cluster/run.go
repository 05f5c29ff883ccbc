// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/child"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/cluster"
)

func newRun(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "run [flags] -- command [args]",
		Short: "Run a command against a new cluster, then stop the cluster",
		Long: `Start a cluster in a new temporary folder, run the command with KUBECONFIG,
KUBEBUILDER_ASSETS, SNAPSCHED_CLUSTER_DIR and PATH set for it, stop the cluster
in any case, and exit with the command's exit code.

With --dir, the cluster's logs and its audit log are kept.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if cmd.ArgsLenAtDash() != 0 {
				return errors.New("put -- before the command, as in: run -- kubectl get namespaces")
			}
			if o.folder == "" {
				if o.folder, err = os.MkdirTemp("", "snapsched-"); err != nil {
					return err
				}
				defer os.RemoveAll(o.folder)
			}
			s, err := o.buildCluster(cmd.Context())
			if err != nil {
				return err
			}
			return cluster.Keep(cmd.Context(), s, os.Stderr, func(_ context.Context, s cluster.State) error { return runCommand(s, args) })
		},
	}
}

// runCommand runs the user's command and forwards signals to it. It returns the command's exit code as an exitError.
func runCommand(s cluster.State, args []string) error {
	// Set for this process too, so that "run -- kubectl" finds the cluster's kubectl.
	for _, v := range environment(s) {
		if err := os.Setenv(v[0], v[1]); err != nil {
			return err
		}
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	sigs := make(chan os.Signal, 8)
	signal.Notify(sigs, endSignals...)
	// On a terminal, the command stays in this process group: it can then read from the terminal and receives Ctrl-C from
	// it. Elsewhere it gets its own group, so that signals reach its children too.
	interactive := term.IsTerminal(int(os.Stdin.Fd()))
	cmd.SysProcAttr = child.Attr(syscall.SysProcAttr{Setpgid: !interactive})
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", args[0], err)
	}
	target := cmd.Process.Pid
	if !interactive {
		target = -target
	}
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }()
	for {
		select {
		case err := <-exited:
			return exitCode(err)
		case s := <-sigs:
			fromTerminal := s == syscall.SIGINT || s == syscall.SIGQUIT
			if !interactive || !fromTerminal {
				_ = syscall.Kill(target, s.(syscall.Signal))
			}
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
