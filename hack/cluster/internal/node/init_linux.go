// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

// First is the first process of the node: it starts the one that does the
// work, reaps what others leave behind, and ends when that one ends or it is
// asked to. The kernel then ends everything else.
func RunInit(work *exec.Cmd, handedOver ...io.Closer) error {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	if err := work.Start(); err != nil {
		return err
	}
	// Whoever waits for the end of a pipe must not wait for this process.
	for _, f := range handedOver {
		_ = f.Close()
	}
	ended := make(chan error, 1)
	go func() {
		for {
			var status syscall.WaitStatus
			pid, err := syscall.Wait4(-1, &status, 0, nil)
			switch {
			case errors.Is(err, syscall.EINTR):
			case err != nil:
				ended <- err
				return
			case pid == work.Process.Pid && status.ExitStatus() == 0:
				ended <- nil
				return
			case pid == work.Process.Pid:
				ended <- errors.New("the node's programs ended")
				return
			}
		}
	}()
	select {
	case <-asked:
		return nil
	case err := <-ended:
		return err
	}
}
