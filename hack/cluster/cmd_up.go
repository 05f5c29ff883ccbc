// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/build"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/cluster"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/node"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/recipe"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/logtail"
)

func newUp() *cobra.Command {
	var dir string
	var noCSI, withNode, foreground bool
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Bring a cluster up, building what is missing",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d, err := clusterDir(dir)
			if err != nil {
				return err
			}
			ctx, stop := untilSignal(cmd.Context())
			defer stop()
			c, err := bringUp(ctx, cluster.Options{Dir: d, CSI: !noCSI, Node: withNode, Attached: foreground})
			if err != nil {
				return err
			}
			if c.Found {
				fmt.Printf("A cluster is already up in %s.\n", d)
			}
			printUsage(c, dirArgs(dir))
			if !foreground || c.Found {
				return nil
			}
			return stay(ctx, c)
		},
	}
	dirFlag(cmd, &dir, "the folder default in the cache")
	cmd.Flags().BoolVar(&noCSI, "no-csi", false, "no snapshot CRDs, no snapshot controllers, no driver")
	nodeFlag(cmd, &withNode)
	cmd.Flags().BoolVar(&foreground, "foreground", false, "stay until Ctrl-C, then stop everything")
	return cmd
}

// bringUp builds what is missing and brings a cluster up.
func bringUp(ctx context.Context, o cluster.Options) (*cluster.Cluster, error) {
	if o.Node {
		if err := errors.Join(node.AddSbinToPath(), nodeAllowed(string(o.Dir), false)); err != nil {
			return nil, err
		}
	}
	cache, err := build.OpenCache()
	if err != nil {
		return nil, err
	}
	o.Cache, o.Out = cache, console()
	if err := cache.Ensure(ctx, recipe.ForCluster(o.CSI, o.Node), o.Out); err != nil {
		return nil, err
	}
	return cluster.Up(ctx, o)
}

// nodeFlag adds --node to a command.
func nodeFlag(cmd *cobra.Command, withNode *bool) {
	cmd.Flags().BoolVar(withNode, "node", false, "run pods too, on a node in namespaces of its own (Linux, root)")
}

func printUsage(c *cluster.Cluster, dirArgs string) {
	const self = "go -C hack/cluster run ."
	fmt.Printf(`
  kubeconfig  %s
  logs        %s
  use it      export KUBECONFIG=%s
              eval "$(%s env%s)"     also puts kubectl in PATH
  stop it     %s down%s

`, c.State.Kubeconfig, c.Dir.Logs(), shellQuote(c.State.Kubeconfig), self, dirArgs, self, dirArgs)
}

// stay waits for Ctrl-C, or for a part to end by itself.
func stay(ctx context.Context, c *cluster.Cluster) error {
	fmt.Println("Ctrl-C stops the cluster.")
	died := c.Died(ctx)
	var failure error
	select {
	case <-ctx.Done():
	case name := <-died:
		if stoppedElsewhere(c) {
			fmt.Println("The cluster was stopped from elsewhere.")
			return nil
		}
		failure = partEnded(c, name)
	}
	_, err := cluster.Down(context.Background(), c.Dir, os.Stderr)
	if err == nil {
		fmt.Fprintln(os.Stderr, "cluster stopped")
	}
	return errors.Join(failure, err)
}

// stoppedElsewhere tells an end by "down" from an end by accident.
func stoppedElsewhere(c *cluster.Cluster) bool {
	s, err := cluster.Load(c.Dir)
	return errors.Is(err, cluster.ErrNoCluster) || err == nil && s.Stopping
}

func partEnded(c *cluster.Cluster, name string) error {
	log := c.Dir.Log(name)
	return fmt.Errorf("%s ended by itself\n  the last lines of %s:\n%s", name, log, logtail.Indented(log, 20))
}
