// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package prove

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"mapcontroller.dev/snapshotschedule/internal/cli/doctor/prove/internal/core"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
)

// terminationLog is where a pod leaves what it has read, for which nobody needs the right to read logs.
const terminationLog = "/dev/termination-log"

// NewProveData is the command of the pods of a proof.
func NewProveData(f *term.Factory) *cobra.Command {
	return &cobra.Command{
		Use: "prove-data (fill|write|begun|read) SEED PATH...", Hidden: true, Args: cobra.MinimumNArgs(3),
		Short:             "Write and read data, in the pods of a proof",
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			seed, paths := args[1], args[2:]
			switch args[0] {
			case "fill":
				return core.Fill(seed, paths)
			case "write":
				return core.Write(cmd.Context(), seed, paths)
			case "begun":
				return core.Begun(seed, paths)
			case "read":
				return readAll(f, seed, paths)
			}
			return fmt.Errorf("unknown action %s: use fill, write, begun or read", args[0])
		},
	}
}

func readAll(f *term.Factory, seed string, paths []string) error {
	all := make([]core.Reading, len(paths))
	for i, path := range paths {
		var err error
		if all[i], err = core.Read(seed, path); err != nil {
			return err
		}
	}
	text, err := json.Marshal(all)
	if err != nil {
		return err
	}
	fmt.Fprintln(f.Out, string(text))
	to, err := os.OpenFile(terminationLog, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = to.Write(text)
	return errors.Join(err, to.Close())
}
