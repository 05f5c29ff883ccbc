// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"io"
	"net"
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

func TestRelayPassesBothWaysAndTheEnd(t *testing.T) {
	outside, inside := listen(t), listen(t)
	go func() {
		conn, err := inside.Accept()
		if err != nil {
			return
		}
		// Only when the asker has said all can the answer be whole.
		asked, _ := io.ReadAll(conn)
		_, _ = io.WriteString(conn, "you said "+string(asked))
		_ = conn.Close()
	}()
	go relay(outside, inside.Addr().String())
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
	if got, err := io.ReadAll(conn); err != nil || string(got) != "you said hello" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestRelayHangsUpWhenNobodyIsInside(t *testing.T) {
	outside, inside := listen(t), listen(t)
	if err := inside.Close(); err != nil {
		t.Fatal(err)
	}
	go relay(outside, inside.Addr().String())
	conn, err := net.Dial("tcp", outside.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := io.ReadAll(conn); len(got) != 0 {
		t.Errorf("got %q", got)
	}
}

func TestProgressComesThroughUpToTheMark(t *testing.T) {
	for text, ready := range map[string]bool{"[1/2] etcd\n\x04": true, "[1/2] etcd\n": false} {
		out := &strings.Builder{}
		if got := relayProgress(out, strings.NewReader(text)); got != ready || out.String() != "[1/2] etcd\n" {
			t.Errorf("%q: ready %v, said %q", text, got, out)
		}
	}
}

func TestAClusterWithANodeIsAnotherOne(t *testing.T) {
	without, with := &Cluster{}, &Cluster{inside: &Inside{}}
	if n, m := len(without.withCSI().steps()), len(with.withCSI().steps()); m-n != 6 {
		t.Errorf("%d steps without a node, %d with one", n, m)
	}
	for c, plugin := range map[*Cluster]string{without: "--disable-admission-plugins=ServiceAccount", with: "--authorization-mode=Node,RBAC"} {
		if args := strings.Join(apiserverFor(c), " "); !strings.Contains(args, plugin) {
			t.Errorf("the API server lacks %s: %s", plugin, args)
		}
	}
	if controllers(with) != "*" {
		t.Error("a node needs the controllers of nodes")
	}
}

func (c *Cluster) withCSI() *Cluster {
	c.State = &State{CSI: true}
	return c
}
