// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"io"
	"net"
	"slices"
	"strings"
	"testing"
)

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func TestForwardCopiesBothDirectionsAndTheEnd(t *testing.T) {
	outside, inside := listen(t), listen(t)
	go func() {
		conn, err := inside.Accept()
		if err != nil {
			return
		}
		request, _ := io.ReadAll(conn)
		_, _ = io.WriteString(conn, "echo "+string(request))
		_ = conn.Close()
	}()
	go forward(outside, inside.Addr().String())
	conn, err := net.Dial("tcp", outside.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, "hello"); err != nil {
		t.Fatal(err)
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(conn); err != nil || string(got) != "echo hello" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestForwardClosesTheConnectionWithoutAServer(t *testing.T) {
	outside, inside := listen(t), listen(t)
	if err := inside.Close(); err != nil {
		t.Fatal(err)
	}
	go forward(outside, inside.Addr().String())
	conn, err := net.Dial("tcp", outside.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := io.ReadAll(conn); len(got) != 0 {
		t.Errorf("got %q", got)
	}
}

func TestCopyProgressStopsAtTheMarker(t *testing.T) {
	for text, ready := range map[string]bool{"[1/2] etcd\n\x04": true, "[1/2] etcd\n": false} {
		out := &strings.Builder{}
		if got := copyProgress(out, strings.NewReader(text)); got != ready || out.String() != "[1/2] etcd\n" {
			t.Errorf("%q: ready %v, printed %q", text, got, out)
		}
	}
}

func TestNodeAddsStepsAndArguments(t *testing.T) {
	without, with := &Cluster{}, &Cluster{node: &NodeConfig{}}
	if n, m := len(without.withCSI().steps()), len(with.withCSI().steps()); m-n != 6 {
		t.Errorf("%d steps without a node, %d with one", n, m)
	}
	for c, arg := range map[*Cluster]string{without: "--disable-admission-plugins=ServiceAccount", with: "--authorization-mode=Node,RBAC"} {
		if args := apiserverNodeArgs(c); !slices.Contains(args, arg) {
			t.Errorf("missing %s: %v", arg, args)
		}
	}
	if controllers(with) != "*" {
		t.Error("a node needs all controllers")
	}
}

func (c *Cluster) withCSI() *Cluster {
	c.State = &State{CSI: true}
	return c
}
