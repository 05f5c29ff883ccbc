// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"strings"
	"testing"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/judge"
)

func TestWorkloadsAreComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, w := range All() {
		if seen[w.Name] || w.Name == "" || w.What == "" || w.Prepare == nil || w.End == nil {
			t.Errorf("workload %q is a duplicate or lacks a field", w.Name)
		}
		seen[w.Name] = true
		if strings.ContainsAny(w.Name, ": ,*") {
			t.Errorf("workload name %q cannot be part of a plan ID", w.Name)
		}
		for _, s := range w.Steps {
			if s.What == "" || s.When == nil || s.Do == nil {
				t.Errorf("a step of workload %s lacks a field", w.Name)
			}
		}
	}
	if len(seen) < 10 {
		t.Errorf("%d workloads, want at least 10", len(seen))
	}
}

func TestOnlyDeletionsEndWithAnEmptyNamespace(t *testing.T) {
	ends := map[string]bool{"deleted": true, "deleted-foreground": true, "namespace": true}
	for _, w := range All() {
		if ended := w.End(&judge.State{}) == nil; ended != ends[w.Name] {
			t.Errorf("workload %s ends with an empty namespace: %t", w.Name, ended)
		}
	}
}
