// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// The program cluster runs a local Kubernetes cluster with a real snapshot
// stack on loopback: no containers, no root, nothing installed.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
)

func main() { os.Exit(run(os.Args[1:])) }

// exitError ends the program with a code and without a message of its own.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

func run(args []string) int {
	root := newRoot()
	root.SetArgs(args)
	err := root.ExecuteContext(context.Background())
	var code exitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &code):
		return int(code)
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(os.Stderr, "interrupted; everything started has been stopped")
		return 130
	}
	fmt.Fprintln(os.Stderr, "error:", err)
	return 1
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "cluster",
		Short: "Run a local Kubernetes cluster with a real snapshot stack",
		Long: `Run a local Kubernetes cluster with a real snapshot stack: etcd, kube-apiserver,
kube-controller-manager, the snapshot controllers and a mock CSI driver, all as
plain processes on loopback. Everything is built once from Go modules and kept
in a cache folder ($SNAPSCHED_CACHE, else the user's cache folder).

When started by "go -C hack/cluster run .", relative paths and the command
given to run start at the root of the repository.`,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(newBuild(), newAssets(), newUp(), newRun(), newDown(), newStatus(), newEnv(), newJanitor(),
		newImage(), newLoad(), newNodeCheck(), newNodeInside())
	return root
}
