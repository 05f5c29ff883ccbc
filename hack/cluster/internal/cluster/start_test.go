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
	"strings"
	"testing"
	"time"
)

func TestBringWaitsUntilReadyAndRecords(t *testing.T) {
	c := testCluster(t, map[string]string{"part": steady})
	if err := c.bring(t.Context(), definitionOf("part", server(t, 3))); err != nil {
		t.Fatal(err)
	}
	s, err := Load(c.Dir)
	if err != nil || len(s.Parts) != 1 {
		t.Fatalf("state %v, err %v", s, err)
	}
	if p := s.Parts[0]; p.Name != "part" || !p.Alive() || p.Port == 0 {
		t.Errorf("recorded %+v", p)
	}
}

func TestBringTriesAnotherPort(t *testing.T) {
	marker := filepath.Join(t.TempDir(), "tried")
	c := testCluster(t, map[string]string{"part": fmt.Sprintf(
		"if [ ! -e %[1]s ]; then echo $1 > %[1]s; echo 'bind: address already in use'; exit 1; fi\n[ $1 != \"$(cat %[1]s)\" ] || exit 2\n%[2]s", marker, steady)})
	// The first try must be over before anything looks ready.
	probe := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if strings.Contains(readAll(c.Dir.Log("part")), "up") {
			return
		}
		http.Error(w, "not yet", http.StatusServiceUnavailable)
	}))
	defer probe.Close()
	if err := c.bring(t.Context(), definitionOf("part", probe.URL)); err != nil {
		t.Fatal(err)
	}
	if len(c.State.Parts) != 1 {
		t.Errorf("a second try must take the place of the first: %+v", c.State.Parts)
	}
}

func TestAPartThatEndsShowsItsLog(t *testing.T) {
	c := testCluster(t, map[string]string{"part": "echo no such flag; exit 3\n"})
	err := c.bring(t.Context(), definitionOf("part", "http://127.0.0.1:1"))
	if err == nil || !strings.Contains(err.Error(), "no such flag") || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("err = %v", err)
	}
}

func TestAnInterruptedStartLeavesNothing(t *testing.T) {
	c := testCluster(t, map[string]string{"part": steady})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := c.bring(ctx, definitionOf("part", "http://127.0.0.1:1")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("err = %v", err)
	}
	if c.State.Parts[0].Alive() {
		t.Error("the part still runs")
	}
}
