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
	var only []string
	var withNode bool
	cmd := &cobra.Command{
		Use:   "build",
		Short: "Build all parts into the cache; print the folder they are in",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			parts := recipe.ForCluster(true, withNode)
			if len(only) > 0 {
				var err error
				if parts, err = recipe.ByName(only); err != nil {
					return err
				}
			}
			return buildAndPrint(cmd.Context(), parts)
		},
	}
	cmd.Flags().StringSliceVar(&only, "only", nil, "build these `parts` only, separated by commas")
	cmd.Flags().BoolVar(&withNode, "node", false, "also what a cluster with a node needs (Linux)")
	return cmd
}

func newAssets() *cobra.Command {
	return &cobra.Command{
		Use:   "assets",
		Short: "Build what envtest needs; print the folder to set as KUBEBUILDER_ASSETS",
		Long: `Build what envtest needs: etcd, kube-apiserver and kubectl, and the snapshot
CRDs in the folder crds beside them. Prints the folder:

  KUBEBUILDER_ASSETS=$(go -C hack/cluster run . assets) go test ./...`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return buildAndPrint(cmd.Context(), recipe.EnvtestAssets())
		},
	}
}

func buildAndPrint(ctx context.Context, parts []recipe.Component) error {
	ctx, stop := untilSignal(ctx)
	defer stop()
	cache, err := build.OpenCache()
	if err != nil {
		return err
	}
	if err := cache.Ensure(ctx, parts, console()); err != nil {
		return err
	}
	fmt.Println(cache.Bin())
	return nil
}

// console is where progress goes: never stdout, which scripts read.
func console() build.Output {
	return build.Output{W: os.Stderr, Terminal: term.IsTerminal(int(os.Stderr.Fd()))}
}
