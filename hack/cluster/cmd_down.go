/*
Copyright 2026 The SnapshotSchedule Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/local"
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
			was, err := local.Down(context.WithoutCancel(cmd.Context()), d, os.Stderr)
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
