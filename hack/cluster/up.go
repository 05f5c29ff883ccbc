// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/cluster"
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
			s, err := kind.build(cmd.Context(), d)
			if err != nil {
				return err
			}
			if err := cluster.Up(cmd.Context(), s, os.Stderr); err != nil {
				return err
			}
			flag := ""
			if dir != "" {
				flag = " --dir " + quote(string(dir))
			}
			fmt.Printf(`
  kubeconfig  %s
  logs        %s
  to use it   eval "$(go -C hack/cluster run . env%s)"
  to stop it  go -C hack/cluster run . down%s

`, d.Kubeconfig(), d.Logs(), flag, flag)
			return nil
		},
	}
	dir.add(cmd)
	kind.add(cmd)
	return cmd
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
	dir.add(cmd)
	return cmd
}

func newEnv() *cobra.Command {
	var dir dirFlag
	cmd := &cobra.Command{
		Use:   "env",
		Short: "Print shell commands that select a cluster, for eval",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			s, err := dir.load()
			if err != nil {
				return err
			}
			for _, v := range environment(s) {
				fmt.Printf("export %s=%s\n", v[0], quote(v[1]))
			}
			return nil
		},
	}
	dir.add(cmd)
	return cmd
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
