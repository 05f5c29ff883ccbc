// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/cluster"
)

func newStatus() *cobra.Command {
	var dir, output string
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the parts of a cluster; exit 0 only when all are healthy",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if output != "" && output != "json" {
				return fmt.Errorf("unknown output format %q; use json or leave it out", output)
			}
			d, err := clusterDir(dir)
			if err != nil {
				return err
			}
			s, err := cluster.Load(d)
			if err != nil {
				return err
			}
			r := cluster.Check(cmd.Context(), d, s)
			if output == "json" {
				err = writeJSON(os.Stdout, r)
			} else {
				err = writeTable(os.Stdout, r)
			}
			if err == nil && !r.Healthy {
				err = exitError(1)
			}
			return err
		},
	}
	dirFlag(cmd, &dir, "the folder default in the cache")
	cmd.Flags().StringVarP(&output, "output", "o", "", "`format`: json, or a table when left out")
	return cmd
}

func writeJSON(w io.Writer, r cluster.Report) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

func writeTable(w io.Writer, r cluster.Report) error {
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	_, _ = fmt.Fprintln(t, "PART\tPID\tPORT\tSTATE\tUPTIME")
	for _, p := range r.Parts {
		port := "-"
		if p.Port != 0 {
			port = fmt.Sprint(p.Port)
		}
		uptime := "-"
		if p.Uptime != "" {
			uptime = p.Uptime
		}
		state := p.State
		if p.Detail != "" {
			state += " (" + p.Detail + ")"
		}
		_, _ = fmt.Fprintf(t, "%s\t%d\t%s\t%s\t%s\n", p.Name, p.Pid, port, state, uptime)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if !r.Healthy {
		_, _ = fmt.Fprintf(w, "\nNot healthy: %s. Logs are in %s.\n", r.Reason(), cluster.Dir(r.Dir).Logs())
	}
	return nil
}
