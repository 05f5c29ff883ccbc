// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"runtime"

	"github.com/spf13/cobra"

	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/image"
)

func newImage() *cobra.Command {
	var i image.Image
	var out string
	cmd := &cobra.Command{
		Use:   "image --name NAME:TAG --out ARCHIVE PROGRAM [OTHER...]",
		Short: "Create a container image of one or more programs, as an archive, without a container engine",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			i.Program, i.Others = args[0], args[1:]
			archive, err := i.Archive()
			if err != nil {
				return err
			}
			return os.WriteFile(out, archive, 0o644)
		},
	}
	cmd.Flags().StringVar(&i.Name, "name", "", "`name` and tag of the image")
	cmd.Flags().StringVar(&out, "out", "", "`archive` to write")
	cmd.Flags().StringVar(&i.User, "user", "65532:65532", "user that runs the programs, as `uid:gid`")
	cmd.Flags().StringVar(&i.Arch, "arch", runtime.GOARCH, "`architecture` that the programs were built for")
	cmd.Flags().StringToStringVar(&i.Labels, "label", nil, "labels of the image, as `key=value`")
	for _, name := range []string{"name", "out"} {
		_ = cmd.MarkFlagRequired(name)
	}
	return cmd
}
