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
func First(work *exec.Cmd, handedOver ...io.Closer) error {
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
