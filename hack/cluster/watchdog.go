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

// janitor is a second process that does nothing until this one is gone: the
// pipe between them closes when we die, even by SIGKILL, and it then removes
// what we could not.
type janitor struct {
	cmd  *exec.Cmd
	pipe io.WriteCloser
}

const dismissed = "dismissed"

func hireJanitor(d cluster.Dir, temporary bool) (*janitor, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	args := []string{"janitor", string(d)}
	if temporary {
		args = append(args, "--remove")
	}
	cmd := exec.Command(self, args...)
	cmd.SysProcAttr = proc.SessionAttr()
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	return &janitor{cmd, pipe}, cmd.Start()
}

// watchGroup has the janitor kill a process group too; 0 ends that.
func (j *janitor) watchGroup(leader int) {
	_, _ = fmt.Fprintf(j.pipe, "%d\n", leader)
}

// dismiss sends the janitor away: all is clean.
func (j *janitor) dismiss() {
	_, _ = io.WriteString(j.pipe, dismissed+"\n")
	_ = j.pipe.Close()
	_ = j.cmd.Wait()
}

func newJanitor() *cobra.Command {
	var remove bool
	cmd := &cobra.Command{
		Use:    "janitor DIR",
		Short:  "Clean up after a run that was killed (started by run itself)",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return waitAndSweep(os.Stdin, cluster.Dir(args[0]), remove)
		},
	}
	cmd.Flags().BoolVar(&remove, "remove", false, "remove the folder as well")
	return cmd
}

func waitAndSweep(pipe io.Reader, d cluster.Dir, remove bool) error {
	group := 0
	for lines := bufio.NewScanner(pipe); lines.Scan(); {
		if strings.TrimSpace(lines.Text()) == dismissed {
			return nil
		}
		group, _ = strconv.Atoi(lines.Text())
	}
	// The leader may be dead already (it dies with its parent) while others of
	// its group live on. A group's number isn't given away while it has
	// members, so there is nothing to mistake it for.
	if group > 1 {
		_ = syscall.Kill(-group, syscall.SIGKILL)
	}
	// The lock may be held by a child of the killed run for a moment.
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
