// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"strings"
	"testing"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/environment"
)

func TestWorkloadsAreWhole(t *testing.T) {
	seen := map[string]bool{}
	for _, w := range All() {
		if seen[w.Name] || w.Name == "" || w.What == "" || w.Prepare == nil || w.End == nil {
			t.Errorf("workload %q is named twice, or lacks something", w.Name)
		}
		seen[w.Name] = true
		if strings.ContainsAny(w.Name, ": ,*") {
			t.Errorf("%q can't be part of the ID of a plan", w.Name)
		}
		for _, s := range w.Steps {
			if s.What == "" || s.When == nil || s.Do == nil {
				t.Errorf("a step of %s lacks something", w.Name)
			}
		}
	}
	if len(seen) < 10 {
		t.Errorf("%d workloads are promised to be 10", len(seen))
	}
}

func TestAnEmptyNamespaceIsTheEndOfDeletionsOnly(t *testing.T) {
	ends := map[string]bool{"deleted": true, "deleted-foreground": true, "namespace": true}
	for _, w := range All() {
		if ended := w.End(environment.State{}) == nil; ended != ends[w.Name] {
			t.Errorf("workload %s: an empty namespace is its end: %t", w.Name, ended)
		}
	}
}

func TestFind(t *testing.T) {
	all, err := Find()
	if err != nil || len(all) != len(All()) {
		t.Errorf("%d workloads without a name: %v", len(all), err)
	}
	some, err := Find("expiry", "tick")
	if err != nil || len(some) != 2 || some[0].Name != "expiry" {
		t.Errorf("%v, %v", some, err)
	}
	if _, err := Find("none"); err == nil || !strings.Contains(err.Error(), "expiry") {
		t.Errorf("the error should list what there is: %v", err)
	}
}
