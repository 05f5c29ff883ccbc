// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/child"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/image"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/node"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/recipe"
)

// listenerFD is the descriptor of the listener that the processes of a node inherit.
const listenerFD = 3

// startNode starts a node, in which another process starts the cluster.
func (c *Cluster) startNode(ctx context.Context) error {
	// The node's API server is reachable through this listener only: it stays in this network when the node inherits it.
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
	c.State.Server = "https://" + l.Addr().String()
	p, err := again(ctx, initCommand, c.State, c.progress, child.Namespaced(), listener)
	if p != nil {
		c.watch("node", p)
	}
	return err
}

// TryNode sets up an empty node and removes it.
func TryNode(ctx context.Context) error {
	s := State{Cgroup: fmt.Sprintf("snapsched-try-%d", os.Getpid())}
	out := &strings.Builder{}
	p, err := again(ctx, initCommand, s, out, child.Namespaced())
	if p != nil {
		<-p.done
	}
	if err != nil {
		err = fmt.Errorf("this machine does not allow a node: %s", cmp.Or(strings.TrimSpace(out.String()), err.Error()))
	}
	return errors.Join(err, node.RemoveCgroup(s.Cgroup))
}

// initNode sets up a node, and is its first process.
func initNode(_ context.Context, s State) error {
	if err := node.Setup(s.Cgroup); err != nil {
		return err
	}
	if s.Bin == "" { // the node is only tried
		fmt.Print(isUp)
		return nil
	}
	cmd, err := selfCommand(nodeCommand, s)
	if err != nil {
		return err
	}
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.ExtraFiles = []*os.File{os.NewFile(listenerFD, "listener")}
	return node.RunInit(cmd)
}

// keepInNode starts the cluster in a node. It and all that it starts are killed with the node.
func keepInNode(ctx context.Context, s State) error {
	syscall.CloseOnExec(listenerFD)
	l, err := net.FileListener(os.NewFile(listenerFD, "listener"))
	if err != nil {
		return err
	}
	c := &Cluster{State: s, progress: os.Stdout}
	if err := c.startAll(ctx); err != nil {
		return err
	}
	go forward(l, c.address(recipe.KubeAPIServer))
	return reportUp(ctx, s)
}

// forward connects clients outside the node to an address inside.
func forward(l net.Listener, address string) {
	for {
		client, err := l.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", address)
		if err != nil {
			_ = client.Close()
			continue
		}
		go copyOneWay(client, server)
		go copyOneWay(server, client)
	}
}

// copyOneWay copies one direction of a connection until its end, which ends the other direction too.
func copyOneWay(from, to net.Conn) {
	_, _ = io.Copy(to, from)
	_, _ = from.Close(), to.Close()
}

// configureNode writes the configuration files of the node. Its pods have routes instead of a bridge: kube-proxy then sees
// traffic between pods without the kernel module br_netfilter.
func (c *Cluster) configureNode(context.Context) error {
	cni := c.State.Dir.data("cni")
	return errors.Join(c.write("containerd.toml"), c.write("kubelet.yaml"), c.write("kube-proxy.yaml"), c.write("pods.conflist"),
		os.Mkdir(cni, 0o700), os.Rename(c.State.Dir.data("pods.conflist"), filepath.Join(cni, "10-pods.conflist")))
}

// pauseImage is the image of the container that holds a pod's namespaces.
const pauseImage = "localhost/pause:local"

func (c *Cluster) loadPauseImage(ctx context.Context) error {
	archive := c.State.Dir.data("pause.tar")
	i := image.Image{Name: pauseImage, Program: filepath.Join(c.State.Bin, recipe.File(recipe.Pause)), User: "65532:65532"}
	text, err := i.Archive()
	if err := errors.Join(err, os.WriteFile(archive, text, 0o600)); err != nil {
		return err
	}
	return poll(ctx, readyTimeout, func(ctx context.Context) error { return c.State.LoadImage(ctx, archive) })
}

// LoadImage loads the images of an archive into the node.
func (s State) LoadImage(ctx context.Context, archive string) error {
	program := filepath.Join(s.Bin, recipe.Ctr)
	return run(exec.CommandContext(ctx, program, "--address", s.Containerd, "--namespace", "k8s.io", "images", "import", archive))
}

func (c *Cluster) waitForNode(ctx context.Context) error {
	return poll(ctx, 2*readyTimeout, func(ctx context.Context) error {
		return c.kubectl(ctx, "wait", "--for=condition=Ready", "--timeout=30s", "node/"+node.Name)
	})
}
