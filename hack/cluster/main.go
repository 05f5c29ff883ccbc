// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Command cluster runs a local Kubernetes cluster with a snapshot stack, as plain
// processes without containers or root.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/cluster"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/node"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/recipe"
)

func main() {
	os.Exit(run(os.Args[1:]))
}

// exitError ends the program with an exit code and without a message.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

func run(args []string) int {
	// Further signals are ignored, so that a second Ctrl-C does not interrupt the cleanup.
	ctx, _ := signal.NotifyContext(context.Background(), endSignals...)
	root := newRoot()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	var code exitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &code):
		return int(code)
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(os.Stderr, "interrupted; all started processes were stopped")
		return 130
	}
	fmt.Fprintln(os.Stderr, "error:", err)
	return 1
}

// endSignals end this program, and are passed on to the command of run.
var endSignals = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT}

// endWithGoRun makes the end of "go run" count as SIGTERM, because it forwards only the signals of the terminal. Otherwise
// killing it would leave a cluster behind.
func endWithGoRun() {
	parent := os.Getppid()
	if self, err := os.Executable(); err != nil || !strings.Contains(self, "/go-build") {
		return
	}
	go func() {
		for os.Getppid() == parent {
			time.Sleep(250 * time.Millisecond)
		}
		_ = syscall.Kill(os.Getpid(), syscall.SIGTERM)
	}()
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "cluster",
		Short: "Run a local Kubernetes cluster with a snapshot stack",
		Long: `Run a local Kubernetes cluster with a snapshot stack: etcd, kube-apiserver,
kube-controller-manager, the snapshot controllers and a mock CSI driver, all as
plain processes on loopback. Everything is built once from Go modules and cached
in $SNAPSCHED_CACHE, by default a folder in the user's cache folder.

With "go -C hack/cluster run .", relative paths are relative to the root of the
repository, where "run" also starts its command.`,
		PersistentPreRun: func(cmd *cobra.Command, _ []string) {
			if !cmd.Hidden { // the others can outlive it
				endWithGoRun()
			}
		},
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(newAssets(), newUp(), newRun(), newDown(), newEnv(), newImage(), newLoad(), newNodeCheck())
	for name := range cluster.Commands {
		root.AddCommand(&cobra.Command{
			Use: name + " STATE", Hidden: true, Args: cobra.ExactArgs(1),
			RunE: func(cmd *cobra.Command, args []string) error { return cluster.Run(cmd.Context(), name, args[0]) },
		})
	}
	return root
}

func newAssets() *cobra.Command {
	var versions versionFlags
	cmd := &cobra.Command{
		Use:   "assets",
		Short: "Build what envtest needs and print the folder for KUBEBUILDER_ASSETS",
		Long: `Build what envtest needs: etcd, kube-apiserver and kubectl. The snapshot CRDs are
in the subfolder crds. Print the folder:

  KUBEBUILDER_ASSETS=$(go -C hack/cluster run . assets) go test ./...`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			bin, err := versions.build(cmd.Context(), recipe.Versions.EnvtestAssets)
			if err == nil {
				fmt.Println(bin)
			}
			return err
		},
	}
	versions.add(cmd)
	return cmd
}

func newNodeCheck() *cobra.Command {
	return &cobra.Command{
		Use:   "node-check",
		Short: "Check whether this machine allows a cluster with a node; exit 0 only if it does",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := node.Check(os.TempDir()); err != nil {
				return err
			}
			if err := cluster.TryNode(); err != nil {
				return err
			}
			fmt.Println("This machine allows a cluster with a node.")
			return nil
		},
	}
}
