// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"strings"
	"testing"
	"time"
)

// clock is a manual clock.
type clock struct{ t time.Time }

func (c *clock) now() time.Time { return c.t }

func reporter(terminal bool, names ...string) (*Reporter, *clock, *strings.Builder) {
	c, out := &clock{time.Unix(0, 0)}, &strings.Builder{}
	r := New(out, terminal, names)
	r.now, r.start = c.now, c.now()
	return r, c, out
}

func TestPlainOutputPrintsLines(t *testing.T) {
	r, c, out := reporter(false, "etcd", "kube-apiserver")
	r.Step("etcd", "building").Cached()
	c.t = c.t.Add(171 * time.Second)
	s := r.Step("kube-apiserver", "building")
	c.t = c.t.Add(72 * time.Second)
	s.tick()
	s.Done("ok")
	want := `[1/2] etcd            cached
[2/2] kube-apiserver  building … 1m12s (total 4m03s)
[2/2] kube-apiserver  ok 1m12s
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out, want)
	}
}

func TestTerminalOutputRewritesTheLine(t *testing.T) {
	r, c, out := reporter(true, "etcd")
	s := r.Step("etcd", "starting")
	c.t = c.t.Add(1500 * time.Millisecond)
	s.Done("ok")
	want := "\r\x1b[K[1/1] etcd  starting … 0.0s (total 0.0s)\r\x1b[K[1/1] etcd  ok 1.5s\n"
	if out.String() != want {
		t.Errorf("got %q, want %q", out, want)
	}
}

func TestStepNumbersAreAligned(t *testing.T) {
	r, _, out := reporter(false, strings.Split("abcdefghij", "")...)
	r.Step("a", "starting").Cached()
	if want := "[ 1/10] a  cached\n"; out.String() != want {
		t.Errorf("got %q, want %q", out, want)
	}
}

func TestElapsed(t *testing.T) {
	for d, want := range map[time.Duration]string{
		380 * time.Millisecond:        "0.4s",
		12 * time.Second:              "12s",
		72 * time.Second:              "1m12s",
		time.Hour + 2*time.Minute + 3: "1h02m",
	} {
		if got := elapsed(d); got != want {
			t.Errorf("elapsed(%s) = %s, want %s", d, got, want)
		}
	}
}
