// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"strings"
	"testing"
)

func TestCheckReportsEachComponent(t *testing.T) {
	c := testCluster(t, map[string]string{"good": steady, "bad": steady, "stopped": "exit 0\n"})
	for name, probe := range map[string]string{"good": healthServer(t, 0), "bad": healthServer(t, 100), "stopped": healthServer(t, 0)} {
		if _, err := c.startProcess(definitionOf(name, probe), []int{1}); err != nil {
			t.Fatal(err)
		}
	}
	<-c.procs["stopped"].Done
	c.State.Ready = true
	r := Check(t.Context(), c.Dir, c.State)
	for _, p := range r.Components {
		if want := map[string]string{"good": Healthy, "bad": Unhealthy, "stopped": Stopped}[p.Name]; p.State != want {
			t.Errorf("%s is %s (%s), want %s", p.Name, p.State, p.Detail, want)
		}
	}
	if r.Healthy || !strings.Contains(r.Reason(), "stopped stopped") {
		t.Errorf("healthy = %v, reason %q", r.Healthy, r.Reason())
	}
}
