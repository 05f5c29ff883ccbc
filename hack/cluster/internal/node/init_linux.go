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

// RunInit is the init process of the node. It starts the main process, reaps
// orphans, and returns when the main process exits or a signal asks it to. The
// kernel then kills all other processes of the node. The files are those that the
// main process inherits.
func RunInit(main *exec.Cmd, files ...io.Closer) error {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	if err := main.Start(); err != nil {
		return err
	}
	// The reader of a pipe must see its end when the main process exits.
	for _, f := range files {
		_ = f.Close()
	}
	exited := make(chan error, 1)
	go func() {
		for {
			var status syscall.WaitStatus
			pid, err := syscall.Wait4(-1, &status, 0, nil)
			switch {
			case errors.Is(err, syscall.EINTR):
			case err != nil:
				exited <- err
				return
			case pid == main.Process.Pid && status.ExitStatus() == 0:
				exited <- nil
				return
			case pid == main.Process.Pid:
				exited <- errors.New("the main process of the node failed")
				return
			}
		}
	}()
	select {
	case <-signals:
		return nil
	case err := <-exited:
		return err
	}
}
