// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/build"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/recipe"
)

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
			ctx, stop := untilSignal(cmd.Context())
			defer stop()
			cache, err := versions.openCache()
			if err != nil {
				return err
			}
			if err := cache.Ensure(ctx, cache.Versions.EnvtestAssets(), stderr()); err != nil {
				return err
			}
			fmt.Println(cache.Bin())
			return nil
		},
	}
	versions.add(cmd)
	return cmd
}

// versionFlags select the releases that a cluster is built from.
type versionFlags struct{ kubernetes, snapshotter string }

func (f *versionFlags) add(cmd *cobra.Command) {
	current := recipe.Current()
	cmd.Flags().StringVar(&f.kubernetes, "kubernetes", current.Kubernetes, "`version` of Kubernetes")
	cmd.Flags().StringVar(&f.snapshotter, "snapshotter", current.Snapshotter, "`version` of external-snapshotter")
}

func (f *versionFlags) openCache() (*build.Cache, error) {
	versions, err := recipe.Current().With(f.kubernetes, f.snapshotter)
	if err != nil {
		return nil, err
	}
	return build.OpenCache(versions)
}

// stderr is where progress is written, because scripts read stdout.
func stderr() build.Output {
	return build.Output{W: os.Stderr, Terminal: term.IsTerminal(int(os.Stderr.Fd()))}
}
