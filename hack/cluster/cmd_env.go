// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/cluster"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/shell"
)

func newEnv() *cobra.Command {
	var dir dirFlag
	cmd := &cobra.Command{
		Use:   "env",
		Short: "Print shell commands that select a cluster, for eval",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			d, s, err := dir.load()
			if err != nil {
				return err
			}
			for _, v := range clusterEnv(d, s) {
				fmt.Printf("export %s=%s\n", v[0], shell.Quote(v[1]))
			}
			return nil
		},
	}
	dir.addDefault(cmd)
	return cmd
}

// clusterEnv returns the environment variables with which a program finds the cluster and
// its tools: names and values.
func clusterEnv(d cluster.Dir, s *cluster.State) [][2]string {
	return [][2]string{
		{"KUBECONFIG", s.Kubeconfig},
		{"KUBEBUILDER_ASSETS", s.Bin},
		{"SNAPSCHED_CLUSTER_DIR", string(d)},
		{"PATH", prependPath(s.Bin, os.Getenv("PATH"))},
	}
}

// prependPath puts a folder first in a PATH and removes it elsewhere.
func prependPath(dir, path string) string {
	others := slices.DeleteFunc(strings.Split(path, string(os.PathListSeparator)), func(p string) bool { return p == dir })
	return strings.Join(append([]string{dir}, others...), string(os.PathListSeparator))
}
