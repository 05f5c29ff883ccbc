// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"

	"github.com/spf13/cobra"

	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/cluster"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/node"
)

func newNodeCheck() *cobra.Command {
	var install bool
	cmd := &cobra.Command{
		Use:   "node-check",
		Short: "Say whether this machine allows a cluster with a node; exit 0 only if it does",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := untilSignal(cmd.Context())
			defer stop()
			if err := node.AddSbinToPath(); err != nil {
				return err
			}
			if install {
				if err := node.Install(ctx, os.Stderr); err != nil {
					return err
				}
			}
			dir, err := os.MkdirTemp("", "snapsched-")
			if err != nil {
				return err
			}
			defer os.Remove(dir)
			if err := nodeAllowed(dir, true); err != nil {
				return err
			}
			fmt.Println("This machine allows a cluster with a node.")
			return nil
		},
	}
	cmd.Flags().BoolVar(&install, "install", false, "install runc and nftables by apt-get first, if they are missing")
	return cmd
}

// nodeAllowed says why no node can run here. Trying it shows what no look at
// the machine would.
func nodeAllowed(dir string, try bool) error {
	if !try {
		return node.Check(dir, nil)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cgroup := fmt.Sprintf("snapsched-trial-%d", os.Getpid())
	err = node.Check(dir, exec.Command(self, cluster.NodeVerb, "--trial", cgroup))
	return errors.Join(err, node.RemoveCgroup(cgroup))
}

// newNodeInside is what this program does inside the node. The first process
// there makes the node and starts the second, which does the work.
func newNodeInside() *cobra.Command {
	var first, trial bool
	cmd := &cobra.Command{
		Use:    cluster.NodeVerb + " [flags] CLUSTER",
		Short:  "Be a node (started by up and run themselves)",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if trial {
				return node.TrySetup(args[0])
			}
			var in cluster.Inside
			if err := json.Unmarshal([]byte(args[0]), &in); err != nil {
				return err
			}
			door, progress := os.NewFile(3, "door"), os.NewFile(4, "progress")
			if !first {
				return cluster.RunInside(context.Background(), in, door, progress)
			}
			self, err := os.Executable()
			if err != nil {
				return err
			}
			if err := node.Setup(in.Cgroup); err != nil {
				return err
			}
			work := exec.Command(self, cluster.NodeVerb, args[0])
			work.Stdout, work.Stderr, work.ExtraFiles = os.Stdout, os.Stderr, []*os.File{door, progress}
			return node.RunInit(work, progress, door)
		},
	}
	cmd.Flags().BoolVar(&first, "first", false, "be the first process of the node")
	cmd.Flags().BoolVar(&trial, "trial", false, "only try whether the machine allows a node")
	return cmd
}

func newLoad() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "load [flags] ARCHIVE...",
		Short: "Load images from archives into the node of a cluster",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := clusterDir(dir)
			if err != nil {
				return err
			}
			s, err := cluster.Load(d)
			if err != nil {
				return err
			}
			if !s.Node {
				return fmt.Errorf("the cluster in %s has no node that could run an image; up --node makes one", d)
			}
			for _, a := range args {
				path, err := resolve(a)
				if err != nil {
					return err
				}
				if err := cluster.LoadImage(cmd.Context(), s.Bin, s.Containerd, path); err != nil {
					return err
				}
			}
			return nil
		},
	}
	dirFlag(cmd, &dir, "the folder default in the cache")
	return cmd
}
