// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"testing"
	"time"
)

// A PVC that joins is covered by the next slot of its group. Until that has had readyDeadline time, its first snapshots are pending.
func TestAPVCThatJoinsAGroupIsPendingUntilTheNextSlotOfTheGroup(t *testing.T) {
	s := every("6h").grouped()
	s.Spec.ReadyDeadline = "10m"
	tc := groupCase{ // the slots are 1h and 7h ago; the next one is in 5h
		schedule: s, claims: []claimBuilder{claim("a"), claim("c").created(ago(30 * time.Minute))},
		groups: []groupBuilder{group(time.Hour, "a", "a"), group(7*time.Hour, "a", "a")},
	}
	status := statusOf(tc.decide(t))
	for _, part := range status.group.parts {
		if want := map[string]protection{"a": protectionCurrent, "c": protectionPending}[part.name]; part.protection != want {
			t.Errorf("protection of %s is %d, want %d (pending is %d, old is %d)", part.name, part.protection, want, protectionPending, protectionOld)
		}
	}
}

// One failure does not flip the protection of a PVC that joined: the slots are those of its group.
func TestOneFailureDoesNotFlipAPVCThatJoined(t *testing.T) {
	tc := groupCase{ // slots are 1h, 7h and 13h ago; c joined 12h30m ago
		claims: []claimBuilder{claim("a").created(ago(100 * time.Hour)), claim("c").created(ago(12*time.Hour + 30*time.Minute))},
		groups: []groupBuilder{group(7*time.Hour, "a c", "a c"), group(time.Hour, "a c", "").uncut()},
	}
	for _, part := range statusOf(tc.decide(t)).group.parts {
		if part.protection != protectionCurrent {
			t.Errorf("protection of %s is %d, want %d", part.name, part.protection, protectionCurrent)
		}
	}
}
