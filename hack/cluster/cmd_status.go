// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/cluster"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/shell"
)

func newStatus() *cobra.Command {
	var dir dirFlag
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the components of a cluster; exit 0 only if all are healthy",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d, s, err := dir.load()
			if err != nil {
				return err
			}
			r := cluster.Check(cmd.Context(), d, s)
			if err := writeTable(os.Stdout, r); err != nil || r.Healthy {
				return err
			}
			return exitError(1)
		},
	}
	dir.addDefault(cmd)
	return cmd
}

func writeTable(w io.Writer, r cluster.Report) error {
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	_, _ = fmt.Fprintln(t, "COMPONENT\tPID\tPORT\tSTATE\tUPTIME")
	for _, c := range r.Components {
		port, uptime, state := "-", "-", c.State
		if c.Port != 0 {
			port = fmt.Sprint(c.Port)
		}
		if c.State != cluster.Stopped {
			uptime = c.Uptime.String()
		}
		if c.Detail != "" {
			state += " (" + c.Detail + ")"
		}
		_, _ = fmt.Fprintf(t, "%s\t%d\t%s\t%s\t%s\n", c.Name, c.Pid, port, state, uptime)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if !r.Healthy {
		_, _ = fmt.Fprintf(w, "\nNot healthy: %s. Logs are in %s.\n", r.Reason(), r.Dir.Logs())
	}
	return nil
}

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
