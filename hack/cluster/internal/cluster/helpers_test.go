// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/proc"
)

// testCluster returns a cluster whose programs are shell scripts.
func testCluster(t *testing.T, scripts map[string]string) *Cluster {
	t.Helper()
	d := Dir(filepath.Join(t.TempDir(), "c"))
	if err := errors.Join(d.prepare(), d.resetLogs(), writePrivate(d.lock(), nil)); err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	for name, script := range scripts {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	c := &Cluster{Dir: d, attached: true, procs: map[string]*proc.Process{}, State: &State{Bin: bin}}
	t.Cleanup(func() { _ = stopAll(d, c.State) })
	return c
}

// healthServer is healthy from the given request on.
func healthServer(t *testing.T, after int) string {
	t.Helper()
	n := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if n++; n < after {
			http.Error(w, "etcd not ready", http.StatusInternalServerError)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func definitionOf(name, probe string) definition {
	return definition{
		name: name, ports: 1,
		args:  func(_ *Cluster, ports []int) []string { return []string{fmt.Sprint(ports[0])} },
		probe: func(*Cluster, []int) string { return probe },
	}
}

const steady = "echo up; exec sleep 60\n"

func readAll(path string) string {
	b, _ := os.ReadFile(path)
	return string(b)
}
