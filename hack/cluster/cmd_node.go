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
	return &cobra.Command{
		Use:   "node-check",
		Short: "Check whether this machine allows a cluster with a node; exit 0 only if it does",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := errors.Join(node.AddSbinToPath(), trySetup()); err != nil {
				return err
			}
			fmt.Println("This machine allows a cluster with a node.")
			return nil
		},
	}
}

// trySetup sets up an empty node and removes it.
func trySetup() error {
	dir, err := os.MkdirTemp("", "snapsched-")
	if err != nil {
		return err
	}
	defer os.Remove(dir)
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cgroup := fmt.Sprintf("snapsched-try-%d", os.Getpid())
	err = node.Check(dir, exec.Command(self, cluster.NodeCommand, "--try", cgroup))
	return errors.Join(err, node.RemoveCgroup(cgroup))
}

// newRunNode returns the command that runs inside the node. Its init process sets the
// node up and starts it again as the node's main process.
func newRunNode() *cobra.Command {
	var isInit, try bool
	cmd := &cobra.Command{
		Use:    cluster.NodeCommand + " [flags] CONFIG",
		Short:  "Run a node (started by up and run)",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if try {
				return node.TrySetup(args[0])
			}
			var config cluster.NodeConfig
			if err := json.Unmarshal([]byte(args[0]), &config); err != nil {
				return err
			}
			listener, progress := os.NewFile(3, "listener"), os.NewFile(4, "progress")
			if !isInit {
				return cluster.RunNode(context.Background(), config, listener, progress)
			}
			self, err := os.Executable()
			if err != nil {
				return err
			}
			if err := node.Setup(config.Cgroup); err != nil {
				return err
			}
			mainProcess := exec.Command(self, cluster.NodeCommand, args[0])
			mainProcess.Stdout, mainProcess.Stderr = os.Stdout, os.Stderr
			mainProcess.ExtraFiles = []*os.File{listener, progress}
			return node.RunInit(mainProcess, progress, listener)
		},
	}
	cmd.Flags().BoolVar(&isInit, "init", false, "run as the node's init process")
	cmd.Flags().BoolVar(&try, "try", false, "only set up a node, in the cgroup CONFIG")
	return cmd
}
