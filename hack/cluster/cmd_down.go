// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/cluster"
)

func newDown() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "down",
		Short: "Stop a cluster and remove its data; the logs stay",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d, err := clusterDir(dir)
			if err != nil {
				return err
			}
			// Not ended by a signal: half down is worse than either.
			was, err := cluster.Down(context.WithoutCancel(cmd.Context()), d, os.Stderr)
			switch {
			case err != nil:
				return err
			case was:
				fmt.Printf("The cluster in %s is down; its logs are in %s.\n", d, d.Logs())
			default:
				fmt.Printf("No cluster is up in %s.\n", d)
			}
			return nil
		},
	}
	dirFlag(cmd, &dir, "the folder default in the cache")
	return cmd
}
