// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/image"
)

func newImage() *cobra.Command {
	var i image.Image
	var out string
	cmd := &cobra.Command{
		Use:   "image --name NAME:TAG --out ARCHIVE PROGRAM",
		Short: "Make a container image of one program, as an archive, without a container engine",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) (err error) {
			if i.Program, err = resolve(args[0]); err != nil {
				return err
			}
			path, err := resolve(out)
			if err != nil {
				return err
			}
			return writeImage(i, path)
		},
	}
	cmd.Flags().StringVar(&i.Name, "name", "", "the image's `name`, with its tag")
	cmd.Flags().StringVar(&out, "out", "", "the `archive` to write")
	cmd.Flags().StringVar(&i.User, "user", "65532:65532", "whom the program runs as, as `uid:gid`")
	cmd.Flags().StringToStringVar(&i.Labels, "label", nil, "labels of the image, as `key=value`")
	for _, name := range []string{"name", "out"} {
		_ = cmd.MarkFlagRequired(name)
	}
	return cmd
}

// writeImage leaves no half archive behind.
func writeImage(i image.Image, path string) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".image-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if err := errors.Join(i.Write(f), f.Chmod(0o644), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
