// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestStartWaitsUntilReadyAndRecordsTheComponent(t *testing.T) {
	c := testCluster(t, map[string]string{"etcd": steady})
	if err := c.start(t.Context(), definitionOf("etcd", healthServer(t, 3))); err != nil {
		t.Fatal(err)
	}
	s, err := Load(c.Dir)
	if err != nil || len(s.Components) != 1 {
		t.Fatalf("state %v, err %v", s, err)
	}
	if p := s.Components[0]; p.Name != "etcd" || !p.Alive() || p.Port == 0 {
		t.Errorf("recorded %+v", p)
	}
}

func TestStartTriesAnotherPort(t *testing.T) {
	marker := filepath.Join(t.TempDir(), "tried")
	c := testCluster(t, map[string]string{"etcd": fmt.Sprintf(
		"if [ ! -e %[1]s ]; then echo $1 > %[1]s; echo 'bind: address already in use'; exit 1; fi\n"+
			"[ $1 != \"$(cat %[1]s)\" ] || exit 2\n%[2]s", marker, steady)})
	// The component is not ready until the second attempt.
	probe := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if strings.Contains(readAll(c.Dir.Log("etcd")), "up") {
			return
		}
		http.Error(w, "not yet", http.StatusServiceUnavailable)
	}))
	defer probe.Close()
	if err := c.start(t.Context(), definitionOf("etcd", probe.URL)); err != nil {
		t.Fatal(err)
	}
	if len(c.State.Components) != 1 {
		t.Errorf("want one component: %+v", c.State.Components)
	}
}

func TestStartErrorQuotesTheLog(t *testing.T) {
	c := testCluster(t, map[string]string{"etcd": "echo no such flag; exit 3\n"})
	err := c.start(t.Context(), definitionOf("etcd", "http://127.0.0.1:1"))
	if err == nil || !strings.Contains(err.Error(), "no such flag") || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("err = %v", err)
	}
}

func TestInterruptedStartStopsTheProcess(t *testing.T) {
	c := testCluster(t, map[string]string{"etcd": steady})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := c.start(ctx, definitionOf("etcd", "http://127.0.0.1:1")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("err = %v", err)
	}
	if c.State.Components[0].Alive() {
		t.Error("the process still runs")
	}
}

func TestFreePortsDiffer(t *testing.T) {
	ports, err := freePorts(20)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(ports)
	if len(slices.Compact(ports)) != 20 || ports[0] == 0 {
		t.Errorf("ports %v", ports)
	}
}

func TestProberChecksUnixSockets(t *testing.T) {
	if err := newProber(Dir(t.TempDir())).check(t.Context(), "unix:///nonexistent/csi.sock"); err == nil {
		t.Error("a missing socket is ready")
	}
}
