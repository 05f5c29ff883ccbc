// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"errors"
	"testing"

	"k8s.io/client-go/tools/events"
	testclock "k8s.io/utils/clock/testing"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
	"mapcontroller.dev/snapshotschedule/internal/snapshots/metrics"
)

// Contract: STAT-17.
func TestADecisionThatPanicsIsAProblemOfItsPVC(t *testing.T) {
	clock := testclock.NewFakePassiveClock(noon)
	r := newReporter(events.NewFakeRecorder(10), clock, testInFlight(Options{Clock: clock}, 0), metrics.New())
	s := every("6h").SnapshotSchedule
	panicked := mapcontroller.Outcome{Err: errors.Join(&mapcontroller.PanicError{Value: "index out of range"})}
	known := &keyStatus{Claim: "data", RecoveryPoint: ago(day), reported: true}
	for name, previous := range map[string]any{"data": known, "": nil} {
		got := r.report(s, "uid", previous, nil, panicked).(*keyStatus)
		if len(got.Problems) != 1 || got.Claim != name || !got.Problems[0].fails() ||
			got.Problems[0] != (Problem{Claim: name, Reason: v1alpha1.ReasonInternalError, Message: "map key uid: panic: index out of range; " +
				"this is a bug: report it with the operator's log and the output of: kubectl snapsched doctor -A -o json"}) {
			t.Errorf("%q: got %+v", name, got)
		}
		if again := r.report(s, "uid", got, nil, panicked).(*keyStatus); len(again.Problems) != 1 {
			t.Errorf("%q: the second time %+v", name, again.Problems)
		}
	}
	if len(known.Problems) != 0 {
		t.Error("the status before has changed")
	}
	if got := r.report(s, "uid", known, &keyStatus{Claim: "data"}, mapcontroller.Outcome{}).(*keyStatus); len(got.Problems) != 0 {
		t.Errorf("after it was decided: %+v", got.Problems)
	}
}
