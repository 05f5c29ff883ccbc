// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/build"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/cluster"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/node"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/recipe"
)

const moduleLine = "\nmodule mapcontroller.dev/snapshotschedule/hack/cluster\n"

// absPath returns the absolute form of a path that the user gave. It is relative to the working directory, or to the root of
// the repository if that is the source folder of this program, as with "go -C hack/cluster run .".
func absPath(path string) (string, error) {
	if filepath.IsAbs(path) {
		return filepath.Clean(path), nil
	}
	base, err := os.Getwd()
	if text, err := os.ReadFile(filepath.Join(base, "go.mod")); err == nil && strings.Contains("\n"+string(text), moduleLine) {
		base = filepath.Join(base, "..", "..")
	}
	return filepath.Join(base, path), err
}

// dirFlag is the value of --dir.
type dirFlag string

func (f *dirFlag) add(cmd *cobra.Command, defaultValue string) {
	cmd.Flags().StringVar((*string)(f), "dir", "", "`folder` of the cluster (default "+defaultValue+")")
}

// addDefault adds the flag to a command that uses the default cluster without it.
func (f *dirFlag) addDefault(cmd *cobra.Command) { f.add(cmd, "the folder default in the cache") }

// dir returns the folder, by default the one in the cache.
func (f dirFlag) dir() (cluster.Dir, error) {
	if f != "" {
		path, err := absPath(string(f))
		return cluster.Dir(path), err
	}
	cache, err := build.CacheDir()
	return cluster.Dir(filepath.Join(cache, "default")), err
}

// load returns the folder and the state of the cluster in it.
func (f dirFlag) load() (cluster.Dir, cluster.State, error) {
	d, err := f.dir()
	if err != nil {
		return "", cluster.State{}, err
	}
	s, err := cluster.Load(d)
	return d, s, err
}

// versionFlags select the releases that a cluster is built from.
type versionFlags struct{ kubernetes, snapshotter string }

func (f *versionFlags) add(cmd *cobra.Command) {
	current := recipe.Current()
	cmd.Flags().StringVar(&f.kubernetes, "kubernetes", current.Kubernetes, "`version` of Kubernetes")
	cmd.Flags().StringVar(&f.snapshotter, "snapshotter", current.Snapshotter, "`version` of external-snapshotter")
}

// build builds what is missing, and returns the folder of the programs.
func (f *versionFlags) build(ctx context.Context, components func(recipe.Versions) []recipe.Component) (string, error) {
	versions, err := recipe.Current().With(f.kubernetes, f.snapshotter)
	if err != nil {
		return "", err
	}
	cache, err := build.OpenCache(versions)
	if err != nil {
		return "", err
	}
	return cache.Bin(), cache.Ensure(ctx, components(versions), os.Stderr)
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

// kindFlags select the kind of cluster.
type kindFlags struct {
	noCSI    bool
	kind     cluster.Kind
	versions versionFlags
}

func (f *kindFlags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.noCSI, "no-csi", false, "leave out the snapshot CRDs, the snapshot controllers, the CSI driver, and the controller that binds PVCs")
	cmd.Flags().BoolVar(&f.kind.Node, "node", false, "add a node, so that pods run (Linux, root)")
	cmd.Flags().BoolVar(&f.kind.DefaultRates, "default-rates", false,
		"let the snapshot controllers make 5 requests per second, as by default (not with --node)")
	f.versions.add(cmd)
}

// build builds what is missing for a cluster in a folder.
func (f *kindFlags) build(ctx context.Context, d cluster.Dir) (cluster.Kind, error) {
	kind := f.kind
	kind.CSI = !f.noCSI
	if kind.Node {
		if err := node.Check(string(d)); err != nil {
			return kind, err
		}
	}
	var err error
	kind.Bin, err = f.versions.build(ctx, func(v recipe.Versions) []recipe.Component { return v.ForCluster(kind.CSI, kind.Node) })
	return kind, err
}
