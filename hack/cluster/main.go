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
	"syscall"

	"github.com/spf13/cobra"

	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/cluster"
)

func main() { os.Exit(run(os.Args[1:])) }

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

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "cluster",
		Short: "Run a local Kubernetes cluster with a snapshot stack",
		Long: `Run a local Kubernetes cluster with a snapshot stack: etcd, kube-apiserver,
kube-controller-manager, the snapshot controllers and a mock CSI driver, all as
plain processes on loopback. Everything is built once from Go modules and cached
in $SNAPSCHED_CACHE, by default a folder in the user's cache folder.`,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	var o options
	dir, kind, versions := o.addDir, o.addKind, o.addVersions
	add := func(c *cobra.Command, flags ...func(*cobra.Command)) {
		for _, add := range flags {
			add(c)
		}
		root.AddCommand(c)
	}
	add(o.command("assets", "Build what envtest needs, and the snapshot CRDs, and print the folder for KUBEBUILDER_ASSETS",
		cobra.NoArgs, o.assets), versions)
	add(o.command("up", "Start a cluster, building what is missing", cobra.NoArgs, o.up), dir, kind, versions)
	add(newRun(&o), dir, kind, versions)
	add(o.command("down", "Stop a cluster and remove its data, but keep its logs", cobra.NoArgs, o.down), dir)
	add(o.command("env", "Print shell commands that select a cluster, for eval", cobra.NoArgs, o.env), dir)
	add(newImage())
	add(o.command("load [flags] ARCHIVE...", "Load images from archives into the node of a cluster", cobra.MinimumNArgs(1), o.load), dir)
	add(o.command("node-check", "Check whether this machine allows a cluster with a node; exit 0 only if it does", cobra.NoArgs, checkNode))
	for name := range cluster.Commands {
		root.AddCommand(&cobra.Command{
			Use: name + " STATE", Hidden: true, Args: cobra.ExactArgs(1),
			RunE: func(cmd *cobra.Command, args []string) error { return cluster.Run(cmd.Context(), name, args[0]) },
		})
	}
	return root
}
