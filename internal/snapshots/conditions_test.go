// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"strings"
	"testing"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// Condition Ready has the whole command of its problem, or none.
func TestAProblemInAMessageHasNoPartOfACommand(t *testing.T) {
	for length, want := range map[int]bool{10: true, 490: false, 700: false} {
		p := Problem{Claim: "data", Reason: v1alpha1.ReasonGroupMismatch, Message: strings.Repeat("x", length) + ": kubectl label pvc 'data' 'a=b'"}
		got := first(p)
		if has := strings.HasSuffix(got, "'a=b'"); has != want || strings.Contains(got, "kubectl") != want || len(got) > maxFirst {
			t.Errorf("%d: %s", length, got)
		}
	}
}
