// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"testing"
	"time"
)

func TestDownStopsComponentsInReverseOrder(t *testing.T) {
	order := filepath.Join(t.TempDir(), "order")
	script := "trap 'echo $(basename $0) >> " + order + "; exit' TERM\necho up\nwhile :; do sleep 0.01; done\n"
	c := testCluster(t, map[string]string{"one": script, "two": script, "three": script})
	for _, name := range []string{"one", "two", "three"} {
		if _, err := c.startProcess(definitionOf(name, "http://127.0.0.1:1"), []int{1}); err != nil {
			t.Fatal(err)
		}
		err := poll(t.Context(), 5*time.Second, func(context.Context) error {
			if readAll(c.Dir.Log(name)) == "" {
				return errors.New("not up")
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	was, err := Down(t.Context(), c.Dir, io.Discard)
	if err != nil || !was {
		t.Fatalf("down: %v, %v", was, err)
	}
	if got := readAll(order); got != "three\ntwo\none\n" {
		t.Errorf("stopped in the order %q", got)
	}
	if _, err := Load(c.Dir); !errors.Is(err, ErrNoCluster) {
		t.Errorf("after down: %v", err)
	}
	if readAll(c.Dir.Log("one")) == "" {
		t.Error("the logs were removed")
	}
	if was, err := Down(t.Context(), c.Dir, io.Discard); was || err != nil {
		t.Errorf("down again: %v, %v", was, err)
	}
}

func TestDownDoesNotStopAReusedPid(t *testing.T) {
	c := testCluster(t, map[string]string{"etcd": steady})
	p, err := c.startProcess(definitionOf("etcd", "http://127.0.0.1:1"), []int{1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Stop(0) }()
	c.State.Components[0].StartTime = "another time"
	if err := stopAll(c.Dir, c.State); err != nil {
		t.Fatal(err)
	}
	if !p.Alive() {
		t.Error("another process was killed")
	}
}
