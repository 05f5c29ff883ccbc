// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"

	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/build"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/proc"
)

// NodeConfig is what the node's main process gets from the process that starts it.
type NodeConfig struct {
	Dir                Dir
	Bin                string
	CSI                bool
	Socket, Containerd string
	Cgroup             string
	// Server is the URL of the API server as seen from outside the node.
	Server   string
	Terminal bool
}

// RunNode is the node's main process: it starts all components and returns when one
// exits. The listener is in the network outside the node; progress is read there.
func RunNode(ctx context.Context, config NodeConfig, listener, progress *os.File) error {
	l, err := net.FileListener(listener)
	if err != nil {
		return err
	}
	c := &Cluster{
		Dir: config.Dir, attached: true, procs: map[string]*proc.Process{}, node: &config, socket: config.Socket,
		State: &State{Bin: config.Bin, CSI: config.CSI, Node: true, Kubeconfig: config.Dir.Kubeconfig()},
	}
	if err := c.startAll(ctx, build.Output{W: progress, Terminal: config.Terminal}); err != nil {
		return err
	}
	go forward(l, strings.TrimPrefix(c.State.Server, "https://"))
	if _, err := progress.Write([]byte{readyMarker}); err != nil {
		return err
	}
	if err := progress.Close(); err != nil {
		return err
	}
	return c.ExitError(<-c.Exited(ctx))
}

// forward connects clients outside the node to an address inside.
func forward(l net.Listener, address string) {
	for {
		client, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue
		}
		server, err := net.Dial("tcp", address)
		if err != nil {
			_ = client.Close()
			continue
		}
		go copyOneWay(client.(*net.TCPConn), server.(*net.TCPConn))
		go copyOneWay(server.(*net.TCPConn), client.(*net.TCPConn))
	}
}

// copyOneWay copies one direction of a connection, including its end.
func copyOneWay(from, to *net.TCPConn) {
	_, err := io.Copy(to, from)
	if err == nil {
		err = to.CloseWrite()
	}
	if err != nil {
		_, _ = from.Close(), to.Close()
	}
}
