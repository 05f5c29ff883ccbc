// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/cluster"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/node"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/shell"
)

func newUp() *cobra.Command {
	var dir dirFlag
	var kind kindFlags
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start a cluster, building what is missing",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d, err := dir.dir()
			if err != nil {
				return err
			}
			ctx, stop := untilSignal(cmd.Context())
			defer stop()
			c, err := buildAndStart(ctx, kind, kind.options(d, false))
			if err != nil {
				return err
			}
			if c.AlreadyUp {
				fmt.Printf("A cluster is already up in %s.\n", d)
			}
			printUsage(c, dir.args())
			return nil
		},
	}
	dir.addDefault(cmd)
	kind.add(cmd)
	return cmd
}

// kindFlags select the kind of cluster.
type kindFlags struct {
	noCSI, node, defaultRates bool
	versions                  versionFlags
}

func (f *kindFlags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.noCSI, "no-csi", false, "leave out the snapshot CRDs, the snapshot controllers and the CSI driver")
	cmd.Flags().BoolVar(&f.node, "node", false, "add a node, so that pods run (Linux, root)")
	cmd.Flags().BoolVar(&f.defaultRates, "default-rates", false,
		"let the snapshot controllers make 5 requests per second, as by default (not with --node)")
	f.versions.add(cmd)
}

func (f *kindFlags) options(d cluster.Dir, attached bool) cluster.Options {
	return cluster.Options{Dir: d, CSI: !f.noCSI, Node: f.node, DefaultRates: f.defaultRates, Attached: attached}
}

// buildAndStart builds what is missing and starts a cluster.
func buildAndStart(ctx context.Context, kind kindFlags, o cluster.Options) (*cluster.Cluster, error) {
	if o.Node {
		if err := errors.Join(node.AddSbinToPath(), node.Check(string(o.Dir), nil)); err != nil {
			return nil, err
		}
	}
	cache, err := kind.versions.openCache()
	if err != nil {
		return nil, err
	}
	o.Cache, o.Out = cache, stderr()
	if err := cache.Ensure(ctx, cache.Versions.ForCluster(o.CSI, o.Node), o.Out); err != nil {
		return nil, err
	}
	return cluster.Up(ctx, o)
}

func printUsage(c *cluster.Cluster, dirArgs string) {
	const self = "go -C hack/cluster run ."
	fmt.Printf(`
  kubeconfig  %s
  logs        %s
  to use it   export KUBECONFIG=%s
              eval "$(%s env%s)"     also adds kubectl to PATH
  to stop it  %s down%s

`, c.State.Kubeconfig, c.Dir.Logs(), shell.Quote(c.State.Kubeconfig), self, dirArgs, self, dirArgs)
}

func newDown() *cobra.Command {
	var dir dirFlag
	cmd := &cobra.Command{
		Use:   "down",
		Short: "Stop a cluster and remove its data, but keep its logs",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d, err := dir.dir()
			if err != nil {
				return err
			}
			// A signal must not leave the cluster half stopped.
			stopped, err := cluster.Down(context.WithoutCancel(cmd.Context()), d, os.Stderr)
			switch {
			case err != nil:
				return err
			case stopped:
				fmt.Printf("Stopped the cluster in %s. Its logs are in %s.\n", d, d.Logs())
			default:
				fmt.Printf("No cluster is up in %s.\n", d)
			}
			return nil
		},
	}
	dir.addDefault(cmd)
	return cmd
}
