// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"errors"
	"os/exec"
	"syscall"
)

// RunInit is the init process of the node. It starts the main process, reaps orphans, and returns when the main process
// ends. The kernel then kills all other processes of the node.
func RunInit(main *exec.Cmd) error {
	if err := main.Start(); err != nil {
		return err
	}
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return err
		case pid == main.Process.Pid && status.ExitStatus() == 0:
			return nil
		case pid == main.Process.Pid:
			return errors.New("the main process of the node failed")
		}
	}
}
