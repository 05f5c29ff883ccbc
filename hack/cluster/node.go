// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/child"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/cluster"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/node"
)

func newNodeCheck() *cobra.Command {
	return &cobra.Command{
		Use:   "node-check",
		Short: "Check whether this machine allows a cluster with a node; exit 0 only if it does",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := node.Check(os.TempDir()); err != nil {
				return err
			}
			if err := tryNode(); err != nil {
				return err
			}
			fmt.Println("This machine allows a cluster with a node.")
			return nil
		},
	}
}

const tryCommand = "node-try"

// tryNode sets up an empty node and removes it.
func tryNode() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cgroup := fmt.Sprintf("snapsched-try-%d", os.Getpid())
	cmd := exec.Command(self, tryCommand, cgroup)
	cmd.SysProcAttr = child.Namespaced()
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("this machine does not allow a node: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return errors.Join(err, node.RemoveCgroup(cgroup))
}

// newHidden returns the commands that this program runs itself.
func newHidden() []*cobra.Command {
	hidden := func(name, short string, do func(arg string) error) *cobra.Command {
		return &cobra.Command{
			Use: name + " CONFIG", Short: short, Hidden: true, Args: cobra.ExactArgs(1),
			RunE: func(_ *cobra.Command, args []string) error { return do(args[0]) },
		}
	}
	return []*cobra.Command{
		hidden(tryCommand, "Set up an empty node", node.TrySetup),
		hidden(cluster.InitCommand, "Be the first process of a node", initNode),
		hidden(cluster.KeepCommand, "Start a cluster and keep it", func(arg string) error {
			var config cluster.Config
			if err := json.Unmarshal([]byte(arg), &config); err != nil {
				return err
			}
			log.SetLogger(klog.Background())
			return cluster.Keep(config, cluster.Inherited(), cluster.Up)
		}),
	}
}

// initNode sets up the node and starts the keeper in it, with the files of this process.
func initNode(arg string) error {
	files := cluster.Inherited()
	var config cluster.Config
	err := json.Unmarshal([]byte(arg), &config)
	if err == nil {
		err = node.Setup(config.Cgroup)
	}
	self, selfErr := os.Executable()
	if err := errors.Join(err, selfErr); err != nil {
		_, _ = fmt.Fprint(files.Result, err)
		return err
	}
	keeper := exec.Command(self, cluster.KeepCommand, arg)
	keeper.Stdin, keeper.Stdout, keeper.Stderr = os.Stdin, os.Stdout, os.Stderr
	keeper.ExtraFiles = []*os.File{files.Progress, files.Result, files.Listener}
	return node.RunInit(keeper, files)
}
