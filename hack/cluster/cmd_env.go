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

func newEnv() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "env",
		Short: "Print shell lines that point a shell at a cluster, for eval",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			d, err := clusterDir(dir)
			if err != nil {
				return err
			}
			s, err := cluster.Load(d)
			if err != nil {
				return err
			}
			for _, v := range environment(d, s) {
				name, value, _ := strings.Cut(v, "=")
				fmt.Printf("export %s=%s\n", name, shellQuote(value))
			}
			return nil
		},
	}
	dirFlag(cmd, &dir, "the folder default in the cache")
	return cmd
}

// environment is what a program needs to find the cluster and its tools.
func environment(d cluster.Dir, s *cluster.State) []string {
	return []string{
		"KUBECONFIG=" + s.Kubeconfig,
		"KUBEBUILDER_ASSETS=" + s.Bin,
		"SNAPSCHED_CLUSTER_DIR=" + string(d),
		"PATH=" + prepend(s.Bin, os.Getenv("PATH")),
	}
}

// prepend puts a folder first in a PATH, once.
func prepend(dir, path string) string {
	kept := []string{dir}
	for p := range strings.SplitSeq(path, string(os.PathListSeparator)) {
		if p != dir {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, string(os.PathListSeparator))
}

// shellQuote leaves plain words as they are.
func shellQuote(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-:=,+@", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
