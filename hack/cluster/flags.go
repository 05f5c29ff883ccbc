// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/build"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/cluster"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/node"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/recipe"
)

// options are the flags that several commands have.
type options struct {
	folder                  string
	noCSI, node             bool
	kubernetes, snapshotter string
}

// command returns a command that is given the options.
func (o *options) command(use, short string, args cobra.PositionalArgs, run func(context.Context, []string) error) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, Args: args, RunE: func(cmd *cobra.Command, args []string) error {
		return run(cmd.Context(), args)
	}}
}

func (o *options) addDir(c *cobra.Command) {
	c.Flags().StringVar(&o.folder, "dir", "", "`folder` of the cluster (default: a temporary one for run, otherwise one in the cache)")
}

func (o *options) addKind(c *cobra.Command) {
	c.Flags().BoolVar(&o.noCSI, "no-csi", false,
		"leave out the snapshot CRDs, the snapshot controllers, the CSI driver, and the controller that binds PVCs")
	c.Flags().BoolVar(&o.node, "node", false, "add a node, so that pods run (Linux, root)")
}

func (o *options) addVersions(c *cobra.Command) {
	current := recipe.Current()
	c.Flags().StringVar(&o.kubernetes, "kubernetes", current.Kubernetes, "`version` of Kubernetes")
	c.Flags().StringVar(&o.snapshotter, "snapshotter", current.Snapshotter, "`version` of external-snapshotter")
}

// dir returns the cluster's folder, by default the one in the cache.
func (o *options) dir() (cluster.Dir, error) {
	if o.folder != "" {
		path, err := filepath.Abs(o.folder)
		return cluster.Dir(path), err
	}
	cache, err := build.CacheDir()
	return cluster.Dir(filepath.Join(cache, "default")), err
}

// state returns the state of the cluster in the folder.
func (o *options) state() (cluster.State, error) {
	d, err := o.dir()
	if err != nil {
		return cluster.State{}, err
	}
	return cluster.Load(d)
}

// build builds the components that are needed, and returns the folder of the programs.
func (o *options) build(ctx context.Context, needed func(recipe.Component) bool) (string, error) {
	versions, err := recipe.Current().With(o.kubernetes, o.snapshotter)
	if err != nil {
		return "", err
	}
	cache, err := build.OpenCache(versions)
	if err != nil {
		return "", err
	}
	components := slices.DeleteFunc(versions.Components(), func(c recipe.Component) bool { return !needed(c) })
	return cache.Bin(), cache.Ensure(ctx, components, os.Stderr)
}

// buildCluster builds what a cluster needs, and returns the cluster, which is not started yet.
func (o *options) buildCluster(ctx context.Context) (cluster.State, error) {
	d, err := o.dir()
	if err == nil && o.node {
		err = node.Check(string(d))
	}
	if err != nil {
		return cluster.State{}, err
	}
	bin, err := o.build(ctx, func(c recipe.Component) bool { return (!o.noCSI || !c.CSI) && (o.node || !c.Node) })
	return cluster.State{Dir: d, Bin: bin, CSI: !o.noCSI, Node: o.node}, err
}
