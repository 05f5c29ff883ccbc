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
	"time"

	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/build"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/node"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/proc"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/logtail"
)

// NodePart names the part that a cluster with a node consists of.
const NodePart = "node"

// NodeVerb is the hidden command of this program that is the node.
const NodeVerb = "node-inside"

const containerdSocket = "containerd.sock"

// bringNode starts this program again inside the node, where it brings
// everything up, and waits until it says that all is ready.
func (c *Cluster) bringNode(ctx context.Context, out build.Output) (err error) {
	defer func() {
		if !c.State.Ready {
			err = errors.Join(err, stopAll(c.Dir, c.State))
		}
	}()
	if err := c.clean(); err != nil {
		return err
	}
	c.State.Cgroup = "snapsched-" + strings.ToLower(rand.Text()[:10])
	c.State.Containerd = filepath.Join(filepath.Dir(c.socket), containerdSocket)
	progress, err := c.launchNode(out.Terminal)
	if err != nil {
		return err
	}
	defer progress.Close()
	stop := context.AfterFunc(ctx, func() { _ = progress.Close() })
	defer stop()
	// Ends with the mark, with the node's end, or with ctx.
	if !relayProgress(out.W, progress) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		log := c.Dir.Log(NodePart)
		return fmt.Errorf("the node ended\n  the last lines of %s:\n%s", log, logtail.Indented(log, 30))
	}
	return c.ready()
}

// launchNode starts the node and gives the pipe with its progress.
func (c *Cluster) launchNode(terminal bool) (*os.File, error) {
	// The server of the node can be reached through this socket only: it keeps
	// listening in our network when it is handed into the node's.
	listener, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil, err
	}
	defer listener.Close()
	door, err := listener.File()
	if err != nil {
		return nil, err
	}
	defer door.Close()
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer write.Close()
	port := listener.Addr().(*net.TCPAddr).Port
	c.State.Server = "https://" + local(port)
	inside, err := json.Marshal(Inside{
		Dir: c.Dir, Bin: c.State.Bin, CSI: c.State.CSI, Socket: c.socket, Containerd: c.State.Containerd,
		Cgroup: c.State.Cgroup, Server: c.State.Server, Terminal: terminal,
	})
	if err != nil {
		return nil, errors.Join(err, read.Close())
	}
	self, err := os.Executable()
	if err != nil {
		return nil, errors.Join(err, read.Close())
	}
	p, err := proc.Start(proc.Command{
		Name: NodePart, Path: self, Args: []string{NodeVerb, "--first", string(inside)}, Dir: string(c.Dir), Log: c.Dir.Log(NodePart),
		DieWithParent: c.attached, Namespaces: node.Namespaces, Files: []*os.File{door, write},
	})
	if err != nil {
		return nil, errors.Join(err, read.Close())
	}
	c.procs[NodePart] = p
	c.State.set(Part{
		Name: NodePart, Ref: p.Ref, Port: port, Probe: c.State.Server + "/readyz", Log: c.Dir.Log(NodePart), Started: time.Now(),
	})
	if err := c.save(); err != nil {
		return nil, errors.Join(err, read.Close(), p.Stop(0))
	}
	return read, nil
}

// allReady ends the progress that comes from inside the node when all went well.
const allReady = 0x04

// relayProgress copies the progress and tells whether it came to its mark.
func relayProgress(w io.Writer, r io.Reader) bool {
	b := make([]byte, 4096)
	for {
		n, err := r.Read(b)
		text, _, ready := bytes.Cut(b[:n], []byte{allReady})
		_, _ = w.Write(text)
		if ready || err != nil {
			return ready
		}
	}
}
