// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/cluster"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/proc"
)

// watchdog is a child process that cleans up if this process is killed, even by
// SIGKILL: it waits until the pipe between them is closed.
type watchdog struct {
	cmd  *exec.Cmd
	pipe io.WriteCloser
}

// releaseMessage tells the watchdog that nothing is left to clean up.
const releaseMessage = "release"

func startWatchdog(d cluster.Dir, temporary bool) (*watchdog, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	args := []string{"watchdog", string(d)}
	if temporary {
		args = append(args, "--remove")
	}
	cmd := exec.Command(self, args...)
	cmd.SysProcAttr = proc.SessionAttr()
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	return &watchdog{cmd, pipe}, cmd.Start()
}

// watchGroup makes the watchdog kill a process group too. Zero ends that.
func (w *watchdog) watchGroup(leader int) {
	_, _ = fmt.Fprintf(w.pipe, "%d\n", leader)
}

// release ends the watchdog without a cleanup.
func (w *watchdog) release() {
	_, _ = io.WriteString(w.pipe, releaseMessage+"\n")
	_ = w.pipe.Close()
	_ = w.cmd.Wait()
}

func newWatchdog() *cobra.Command {
	var remove bool
	cmd := &cobra.Command{
		Use:    "watchdog DIR",
		Short:  "Clean up after a killed run (started by run)",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return runWatchdog(os.Stdin, cluster.Dir(args[0]), remove)
		},
	}
	cmd.Flags().BoolVar(&remove, "remove", false, "also remove the folder")
	return cmd
}

func runWatchdog(pipe io.Reader, d cluster.Dir, remove bool) error {
	group := 0
	for lines := bufio.NewScanner(pipe); lines.Scan(); {
		if strings.TrimSpace(lines.Text()) == releaseMessage {
			return nil
		}
		group, _ = strconv.Atoi(lines.Text())
	}
	// The leader dies with its parent, but others of its group may live. The group's
	// number is not reused while it has members.
	if group > 1 {
		_ = syscall.Kill(-group, syscall.SIGKILL)
	}
	// A child of the killed run may still hold the lock for a moment.
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if _, err := cluster.Down(ctx, d, io.Discard); err != nil {
		return err
	}
	if remove {
		return os.RemoveAll(string(d))
	}
	return nil
}
