// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"io"
	"path/filepath"
	"strings"
	"testing"

	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/build"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/recipe"
)

func options(c *Cluster, root string) Options {
	return Options{Dir: c.Dir, Cache: &build.Cache{Root: root, Versions: recipe.Current()}, CSI: true, Out: build.Output{W: io.Discard}}
}

func TestFailedUpStopsWhatItStarted(t *testing.T) {
	// The cache is empty.
	c := testCluster(t, nil)
	root := t.TempDir()
	out := &strings.Builder{}
	o := options(c, root)
	o.Out.W = out
	if _, err := Up(t.Context(), o); err == nil || !strings.Contains(err.Error(), "start etcd") {
		t.Errorf("err = %v", err)
	}
	if !strings.Contains(out.String(), "etcd                     failed after") {
		t.Errorf("output:\n%s", out)
	}
	if _, err := Load(c.Dir); err == nil {
		t.Error("the state still exists")
	}
}

func TestUpFindsARunningCluster(t *testing.T) {
	c := testCluster(t, map[string]string{"etcd": steady})
	if err := c.start(t.Context(), definitionOf("etcd", healthServer(t, 0))); err != nil {
		t.Fatal(err)
	}
	c.State.Ready, c.State.CSI = true, true
	if err := c.State.save(c.Dir); err != nil {
		t.Fatal(err)
	}
	o := options(c, filepath.Join(t.TempDir(), "hash"))
	found, err := Up(t.Context(), o)
	if err != nil || found == nil || !found.AlreadyUp {
		t.Errorf("found %v, err %v", found, err)
	}
	o.CSI = false
	if _, err := Up(t.Context(), o); err == nil || !strings.Contains(err.Error(), "run down first") {
		t.Errorf("with other options: %v", err)
	}
}

func TestUpStopsAnUnhealthyCluster(t *testing.T) {
	c := testCluster(t, map[string]string{"one": steady, "two": steady})
	for _, name := range []string{"one", "two"} {
		if err := c.start(t.Context(), definitionOf(name, healthServer(t, 0))); err != nil {
			t.Fatal(err)
		}
	}
	c.State.Ready = true
	if err := c.procs["two"].Stop(0); err != nil {
		t.Fatal(err)
	}
	if err := c.State.save(c.Dir); err != nil {
		t.Fatal(err)
	}
	out := &strings.Builder{}
	o := options(c, t.TempDir())
	o.Out.W = out
	found, err := findRunning(t.Context(), o)
	if found != nil || err != nil || !strings.Contains(out.String(), "two stopped") {
		t.Errorf("found %v, err %v, printed %q", found, err, out)
	}
	if c.procs["one"].Alive() {
		t.Error("its other component still runs")
	}
}

func TestExitedNamesTheComponent(t *testing.T) {
	c := testCluster(t, map[string]string{"one": steady, "two": steady})
	for _, name := range []string{"one", "two"} {
		if _, err := c.startProcess(definitionOf(name, "http://127.0.0.1:1"), []int{1}); err != nil {
			t.Fatal(err)
		}
	}
	exited := c.Exited(t.Context())
	_ = c.procs["two"].Stop(0)
	if name := <-exited; name != "two" {
		t.Errorf("%s exited", name)
	}
}
