// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Keep starts a cluster and calls a function. When that returns, it stops the cluster and removes all but the logs.
func Keep(ctx context.Context, s State, out io.Writer, use func(context.Context, State) error) (err error) {
	lock, err := s.Dir.prepare()
	if err != nil {
		return err
	}
	c := &Cluster{State: s, progress: out}
	defer func() { err = errors.Join(err, c.State.clean(), lock.Unlock()) }()
	c.State.Keeper = os.Getpid()
	// Not in os.TempDir, which can be long.
	if c.State.Sockets, err = os.MkdirTemp("/tmp", "snapsched-"); err != nil {
		return err
	}
	up := c.startAll
	if s.Node {
		c.State.Cgroup = "snapsched-" + strings.ToLower(rand.Text()[:10])
		c.State.Containerd = filepath.Join(c.State.Sockets, "containerd.sock")
		up = c.startNode
	}
	if err := c.State.save(); err != nil { // for Down, if this process is killed
		return err
	}
	defer c.stop()
	if err := up(ctx); err != nil {
		return err
	}
	if err := c.State.save(); err != nil {
		return err
	}
	return use(ctx, c.State)
}

// Up starts a cluster that another process keeps, in a session of its own, where no Ctrl-C reaches it.
func Up(ctx context.Context, s State, out io.Writer) error {
	p, err := again(ctx, keepCommand, s, out, &syscall.SysProcAttr{Setsid: true})
	if err != nil && p != nil {
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
		<-p.done
	}
	return err
}

const (
	keepCommand = "keep"      // keeps a cluster until a signal arrives
	initCommand = "node-init" // is the first process of a node
	nodeCommand = "node-keep" // keeps the cluster in a node
)

// Commands are the hidden commands of this program. Their argument is a State as JSON.
var Commands = map[string]func(context.Context, State) error{
	keepCommand: func(ctx context.Context, s State) error {
		err := Keep(ctx, s, os.Stdout, reportUp)
		if errors.Is(err, context.Canceled) {
			return nil
		}
		return err
	},
	initCommand: initNode,
	nodeCommand: keepInNode,
}

// Run runs a hidden command.
func Run(ctx context.Context, command, argument string) error {
	// Warnings must not end the process when nobody reads them any more.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	var s State
	if err := json.Unmarshal([]byte(argument), &s); err != nil {
		return err
	}
	return Commands[command](ctx, s)
}

// isUp is the line that a hidden command writes when its cluster is up.
const isUp = "the cluster is up\n"

// reportUp says that the cluster is up, and returns when a signal arrives.
func reportUp(ctx context.Context, _ State) error {
	fmt.Print(isUp)
	<-ctx.Done()
	return nil
}

// again starts this program again with a hidden command, and waits until its cluster is up. It writes the command's output
// to out. If the cluster does not come up, it also returns the process.
func again(
	ctx context.Context, command string, s State, out io.Writer, attr *syscall.SysProcAttr, files ...*os.File,
) (*process, error) {
	cmd, err := selfCommand(command, s)
	if err != nil {
		return nil, err
	}
	up := make(chan struct{})
	cmd.SysProcAttr, cmd.ExtraFiles = attr, files
	cmd.Stdout = output(func(text []byte) {
		before, after, found := bytes.Cut(text, []byte(isUp))
		if found {
			close(up)
		}
		_, _ = out.Write(slices.Concat(before, after))
	})
	cmd.Stderr = cmd.Stdout
	p, err := launch(cmd)
	if err != nil {
		return nil, err
	}
	select {
	case <-up:
		return p, nil
	case <-p.done:
		return p, fmt.Errorf("the cluster did not start: %s", p.cmd.ProcessState)
	case <-ctx.Done():
		return p, ctx.Err()
	}
}

// output is called with what a command writes.
type output func([]byte)

func (o output) Write(text []byte) (int, error) { o(text); return len(text), nil }

// selfCommand returns a hidden command of this program.
func selfCommand(command string, s State) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	argument, err := json.Marshal(s)
	cmd := exec.Command(self, command, string(argument))
	cmd.Env = minimalEnv()
	return cmd, err
}
