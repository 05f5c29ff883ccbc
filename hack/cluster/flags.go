// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
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

func (f *dirFlag) add(cmd *cobra.Command) {
	cmd.Flags().StringVar((*string)(f), "dir", "", "`folder` of the cluster (default: the folder default in the cache)")
}

// dir returns the folder, by default the one in the cache.
func (f dirFlag) dir() (cluster.Dir, error) {
	if f != "" {
		path, err := absPath(string(f))
		return cluster.Dir(path), err
	}
	cache, err := build.CacheDir()
	return cluster.Dir(filepath.Join(cache, "default")), err
}

// load returns the state of the cluster in the folder.
func (f dirFlag) load() (cluster.State, error) {
	d, err := f.dir()
	if err != nil {
		return cluster.State{}, err
	}
	return cluster.Load(d)
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

// kindFlags select the kind of cluster.
type kindFlags struct {
	noCSI, node bool
	versions    versionFlags
}

func (f *kindFlags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.noCSI, "no-csi", false, "leave out the snapshot CRDs, the snapshot controllers and the CSI driver")
	cmd.Flags().BoolVar(&f.node, "node", false, "add a node, so that pods run (Linux, root)")
	f.versions.add(cmd)
}

// build builds what is missing for a cluster in a folder, which has not been started yet.
func (f *kindFlags) build(ctx context.Context, d cluster.Dir) (cluster.State, error) {
	s := cluster.State{Dir: d, CSI: !f.noCSI, Node: f.node}
	if s.Node {
		if err := node.Check(string(d)); err != nil {
			return s, err
		}
	}
	var err error
	s.Bin, err = f.versions.build(ctx, func(v recipe.Versions) []recipe.Component { return v.ForCluster(s.CSI, s.Node) })
	return s, err
}
