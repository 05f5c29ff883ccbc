// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"

	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/build"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/proc"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/logtail"
)

// Inside is what the program inside the node has to know.
type Inside struct {
	Dir                Dir
	Bin                string
	CSI                bool
	Socket, Containerd string
	Cgroup             string
	// Server is the address of the API server outside the node.
	Server   string
	Terminal bool
}

// RunInside brings all parts up inside the node and stays until one ends. door
// listens outside, progress is read there.
func RunInside(ctx context.Context, in Inside, door, progress *os.File) error {
	listener, err := net.FileListener(door)
	if err != nil {
		return err
	}
	c := &Cluster{
		Dir: in.Dir, attached: true, procs: map[string]*proc.Process{}, inside: &in, socket: in.Socket,
		State: &State{Bin: in.Bin, CSI: in.CSI, Node: true, Kubeconfig: in.Dir.Kubeconfig()},
	}
	if err := c.bringAll(ctx, build.Output{W: progress, Terminal: in.Terminal}); err != nil {
		return err
	}
	go relay(listener, strings.TrimPrefix(c.State.Server, "https://"))
	if _, err := progress.Write([]byte{allReady}); err != nil {
		return err
	}
	if err := progress.Close(); err != nil {
		return err
	}
	name := <-c.Died(ctx)
	return fmt.Errorf("%s ended by itself\n  the last lines of %s:\n%s", name, c.Dir.Log(name), logtail.Indented(c.Dir.Log(name), 20))
}

// relay takes connections from outside to the address inside.
func relay(outside net.Listener, inside string) {
	for {
		from, err := outside.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue
		}
		to, err := net.Dial("tcp", inside)
		if err != nil {
			_ = from.Close()
			continue
		}
		go pass(from.(*net.TCPConn), to.(*net.TCPConn))
		go pass(to.(*net.TCPConn), from.(*net.TCPConn))
	}
}

// pass copies one direction, and passes its end on.
func pass(from, to *net.TCPConn) {
	_, err := io.Copy(to, from)
	if err == nil {
		err = to.CloseWrite()
	}
	if err != nil {
		_, _ = from.Close(), to.Close()
	}
}
