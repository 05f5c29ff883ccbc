// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package campaign

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// RunInCluster runs this program again, with the same arguments, on a local cluster
// of its own.
func RunInCluster(ctx context.Context, root string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	here, err := os.Getwd()
	if err != nil {
		return err
	}
	args := append([]string{"-C", "hack/cluster", "run", ".", "run", "--no-csi", "--chdir", here, "--", self}, os.Args[1:]...)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = root
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("failed on the local cluster, see above: %w", err)
	}
	return nil
}
