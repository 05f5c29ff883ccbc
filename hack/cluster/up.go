// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/cluster"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/node"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/recipe"
)

func newAssets(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "assets",
		Short: "Build what envtest needs, and the snapshot CRDs, and print the folder for KUBEBUILDER_ASSETS",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			bin, err := o.build(cmd.Context(), func(c recipe.Component) bool { return c.Envtest || c.Name == recipe.CRDs })
			if err == nil {
				fmt.Println(bin)
			}
			return err
		},
	}
}

func newUp(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "up",
		Short: "Start a cluster, building what is missing",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := o.buildCluster(cmd.Context())
			if err != nil {
				return err
			}
			if err := cluster.Up(cmd.Context(), s, os.Stderr); err != nil {
				return err
			}
			flag := ""
			if o.folder != "" {
				flag = " --dir " + quote(o.folder)
			}
			fmt.Printf(`
  kubeconfig  %s
  logs        %s
  to use it   eval "$(go -C hack/cluster run . env%s)"
  to stop it  go -C hack/cluster run . down%s

`, s.Dir.Kubeconfig(), s.Dir.Logs(), flag, flag)
			return nil
		},
	}
}

func newDown(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "down",
		Short: "Stop a cluster and remove its data, but keep its logs",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d, err := o.dir()
			if err != nil {
				return err
			}
			stopped, err := cluster.Down(cmd.Context(), d)
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
}

func newEnv(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "env",
		Short: "Print shell commands that select a cluster, for eval",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			s, err := o.load()
			if err != nil {
				return err
			}
			for _, v := range environment(s) {
				fmt.Printf("export %s=%s\n", v[0], quote(v[1]))
			}
			return nil
		},
	}
}

// environment returns the variables with which a program finds a cluster and its tools: names and values.
func environment(s cluster.State) [][2]string {
	return [][2]string{
		{"KUBECONFIG", s.Dir.Kubeconfig()},
		{"KUBEBUILDER_ASSETS", s.Bin},
		{"SNAPSCHED_CLUSTER_DIR", string(s.Dir)},
		{"PATH", s.Bin + string(os.PathListSeparator) + os.Getenv("PATH")},
	}
}

// quote quotes a word for a shell.
func quote(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

func newNodeCheck() *cobra.Command {
	return &cobra.Command{
		Use:   "node-check",
		Short: "Check whether this machine allows a cluster with a node; exit 0 only if it does",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := node.Check(os.TempDir()); err != nil {
				return err
			}
			if err := cluster.TryNode(cmd.Context()); err != nil {
				return err
			}
			fmt.Println("This machine allows a cluster with a node.")
			return nil
		},
	}
}
