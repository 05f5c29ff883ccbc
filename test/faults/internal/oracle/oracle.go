// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package oracle judges a run of the operator by the guarantees that its users
// are given: S1 to S7, L1 to L3. It looks at what the API server committed and at
// what the operator was shown, never at the operator's cache or its logs, and it
// states retention anew, so that a mistake of the product is not made here too.
package oracle

import (
	"time"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/history"
)

// Violation is one breach of a guarantee.
type Violation struct {
	// Oracle is the guarantee: "S1" to "S7", "L1" to "L3"; "Slot" is what the contract
	// says of slots beyond S4.
	Oracle string
	// At is when, by the server's clock.
	At time.Time
	// Message says what happened, to which object, and what would have been right.
	Message string
	// Change and Request are where it is in the history; -1 where there is none.
	Change, Request int
}

// Judge is every guarantee that a history alone can break: all but L1, which
// compares two end states.
func Judge(h *history.History) []Violation {
	var found []Violation
	for _, judge := range []func(*history.History) []Violation{S1, S2, S3, S4, S5, S6, S7, OneAtATime, L2, L3} {
		found = append(found, judge(h)...)
	}

	return found
}
