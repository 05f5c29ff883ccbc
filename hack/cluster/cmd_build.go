// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/build"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/recipe"
)

func newBuild() *cobra.Command {
	var withNode bool
	cmd := &cobra.Command{
		Use:   "build",
		Short: "Build all components into the cache and print their folder",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return buildAndPrint(cmd.Context(), recipe.ForCluster(true, withNode))
		},
	}
	cmd.Flags().BoolVar(&withNode, "node", false, "also build what a cluster with a node needs (Linux)")
	return cmd
}

func newAssets() *cobra.Command {
	return &cobra.Command{
		Use:   "assets",
		Short: "Build what envtest needs and print the folder for KUBEBUILDER_ASSETS",
		Long: `Build what envtest needs: etcd, kube-apiserver and kubectl. The snapshot CRDs are
in the subfolder crds. Print the folder:

  KUBEBUILDER_ASSETS=$(go -C hack/cluster run . assets) go test ./...`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return buildAndPrint(cmd.Context(), recipe.EnvtestAssets())
		},
	}
}

func buildAndPrint(ctx context.Context, components []recipe.Component) error {
	ctx, stop := untilSignal(ctx)
	defer stop()
	cache, err := build.OpenCache()
	if err != nil {
		return err
	}
	if err := cache.Ensure(ctx, components, stderr()); err != nil {
		return err
	}
	fmt.Println(cache.Bin())
	return nil
}

// stderr is where progress is written, because scripts read stdout.
func stderr() build.Output {
	return build.Output{W: os.Stderr, Terminal: term.IsTerminal(int(os.Stderr.Fd()))}
}
