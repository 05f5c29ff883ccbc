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

func newRun() *cobra.Command {
	var dir dirFlag
	var kind kindFlags
	var chdir string
	cmd := &cobra.Command{
		Use:   "run [flags] -- command [args]",
		Short: "Run a command against a new cluster, then stop the cluster",
		Long: `Start a cluster in a new temporary folder, run the command with KUBECONFIG,
KUBEBUILDER_ASSETS, SNAPSCHED_CLUSTER_DIR and PATH set for it, stop the cluster
in any case, and exit with the command's exit code.

With --dir, the cluster's logs and its audit log are kept.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.ArgsLenAtDash() != 0 {
				return errors.New("put -- before the command, as in: run -- kubectl get namespaces")
			}
			workDir, err := absPath(chdir)
			if err != nil {
				return err
			}
			return runInNewCluster(cmd.Context(), dir, kind, workDir, args)
		},
	}
	dir.add(cmd, "a new temporary one")
	kind.add(cmd)
	cmd.Flags().StringVar(&chdir, "chdir", "", "working `folder` of the command")
	return cmd
}

func runInNewCluster(ctx context.Context, dir dirFlag, kind kindFlags, workDir string, args []string) (err error) {
	config := cluster.Config{Attached: true, Temporary: dir == ""}
	config.Dir, err = dir.dir()
	if config.Temporary {
		var path string
		path, err = os.MkdirTemp("", "snapsched-")
		config.Dir = cluster.Dir(path)
		defer os.Remove(path) // if the cluster was not started
	}
	if err != nil {
		return err
	}
	if config.Kind, err = kind.build(ctx, config.Dir); err != nil {
		return err
	}
	keeper, err := cluster.Start(ctx, config, os.Stderr)
	if err != nil {
		return err
	}
	defer func() {
		if stopErr := keeper.Stop(); err == nil {
			err = stopErr
		}
	}()
	return runCommand(keeper, config, workDir, args)
}

// runCommand runs the user's command and forwards signals to it. It returns the command's exit code as an exitError.
func runCommand(keeper *cluster.Keeper, config cluster.Config, workDir string, args []string) error {
	// Set for this process too, so that "run -- kubectl" finds the cluster's kubectl.
	for _, v := range environment(config.Dir, config.Kind.Bin) {
		if err := os.Setenv(v[0], v[1]); err != nil {
			return err
		}
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = workDir
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
		keeper.KillWith(target)
		defer keeper.KillWith(0)
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
