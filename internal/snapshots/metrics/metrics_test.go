// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"mapcontroller.dev/snapshotschedule/internal/limits"
)

// Metrics are started and forgotten for each reason between them.
func TestDeleteReasonsAreFirstToLast(t *testing.T) {
	for reason := range lastDelete + 1 {
		if reason.Delete() != (reason >= firstDelete) {
			t.Errorf("%s: %v", reason, reason.Delete())
		}
	}
	defer func() {
		if recover() == nil {
			t.Errorf("%s is a reason too", lastDelete+1)
		}
	}()
	_ = (lastDelete + 1).String()
}

func TestActiveWhileThisReplicaLeads(t *testing.T) {
	m := New()
	resign := m.Lead(Sources{
		Drivers: func() map[string]limits.Count { return nil }, Unprotected: func() map[string]int { return map[string]int{"shop": 1} },
	})
	const unprotected = "snapshotschedule_unprotected_persistentvolumeclaims"
	if got := testutil.ToFloat64(m.active); got != 1 || testutil.CollectAndCount(m, unprotected) != 1 {
		t.Errorf("while it leads, active is %v", got)
	}
	resign()
	if got := testutil.ToFloat64(m.active); got != 0 || testutil.CollectAndCount(m, unprotected) != 0 {
		t.Errorf("afterwards active is %v", got)
	}
}
