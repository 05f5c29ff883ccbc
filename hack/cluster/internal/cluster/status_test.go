// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"strings"
	"testing"
)

func TestCheckTellsHealth(t *testing.T) {
	c := testCluster(t, map[string]string{"good": steady, "bad": steady, "gone": "exit 0\n"})
	for name, probe := range map[string]string{"good": server(t, 0), "bad": server(t, 100), "gone": server(t, 0)} {
		if _, err := c.launch(definitionOf(name, probe), []int{1}); err != nil {
			t.Fatal(err)
		}
	}
	<-c.procs["gone"].Done
	c.State.Ready = true
	r := Check(t.Context(), c.Dir, c.State)
	for _, p := range r.Parts {
		if want := map[string]string{"good": Healthy, "bad": Unhealthy, "gone": Stopped}[p.Name]; p.State != want {
			t.Errorf("%s is %s (%s), want %s", p.Name, p.State, p.Detail, want)
		}
	}
	if r.Healthy || !strings.Contains(r.Reason(), "gone stopped") {
		t.Errorf("healthy = %v, reason %q", r.Healthy, r.Reason())
	}
}
