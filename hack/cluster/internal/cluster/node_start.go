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
	"net"
	"os"
	"path/filepath"
	"strings"

	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/build"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/logtail"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/node"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/proc"
)

// NodeCommand is the hidden command of this program that runs the node.
const NodeCommand = "run-node"

// nodeName is the only component that the state of a cluster with a node records.
const nodeName = "node"

const containerdSocket = "containerd.sock"

// readyMarker ends the progress output of a node that is ready.
const readyMarker = 0x04

// startNode runs this program again inside new namespaces, where it starts all
// components, and waits until they are ready.
func (c *Cluster) startNode(ctx context.Context, out build.Output) (err error) {
	defer func() {
		if !c.State.Ready {
			err = errors.Join(err, stopAll(c.Dir, c.State))
		}
	}()
	if err := c.reset(); err != nil {
		return err
	}
	c.State.Cgroup = "snapsched-" + strings.ToLower(rand.Text()[:10])
	c.State.Containerd = filepath.Join(filepath.Dir(c.socket), containerdSocket)
	progress, write, err := os.Pipe()
	if err != nil {
		return err
	}
	defer progress.Close()
	if err := errors.Join(c.startNodeProcess(write, out.Terminal), write.Close()); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = progress.Close() })
	defer stop()
	// Returns at the marker, when the node exits, or when ctx ends.
	if !copyProgress(out.W, progress) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("the node exited%s", logtail.Quote(c.Dir.Log(nodeName), 30))
	}
	return c.ready()
}

// startNodeProcess starts the node's init process, which writes its progress to a
// pipe.
func (c *Cluster) startNodeProcess(progress *os.File, terminal bool) error {
	// The node's API server is reachable through this listener only: it stays in
	// the machine's network when the node inherits it.
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return err
	}
	defer l.Close()
	listener, err := l.File()
	if err != nil {
		return err
	}
	defer listener.Close()
	port := l.Addr().(*net.TCPAddr).Port
	c.State.Server = "https://" + loopback(port)
	config, err := json.Marshal(NodeConfig{
		Dir: c.Dir, Bin: c.State.Bin, CSI: c.State.CSI, Socket: c.socket, Containerd: c.State.Containerd,
		Cgroup: c.State.Cgroup, Server: c.State.Server, Terminal: terminal,
	})
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	p, err := proc.Start(proc.Command{
		Name: nodeName, Path: self, Args: []string{NodeCommand, "--init", string(config)}, Dir: string(c.Dir), Log: c.Dir.Log(nodeName),
		DieWithParent: c.attached, Namespaces: node.Namespaces, Files: []*os.File{listener, progress},
	})
	if err != nil {
		return err
	}
	return c.record(p, Component{
		Name: nodeName, Port: port, Probe: c.State.Server + "/readyz",
	})
}

// copyProgress copies the node's progress and returns whether the node is ready.
func copyProgress(w io.Writer, r io.Reader) bool {
	b := make([]byte, 4096)
	for {
		n, err := r.Read(b)
		text, _, ready := bytes.Cut(b[:n], []byte{readyMarker})
		_, _ = w.Write(text)
		if ready || err != nil {
			return ready
		}
	}
}
