// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package oracle judges a run of the operator by the guarantees to its users, S1 to S9 and L1 to L3. It reads what the API server
// committed and what the operator was shown, never its memory or logs, and it implements slots and retention again, from the contract's
// text, so that it does not repeat a mistake of the product.
//
// Files: a file for each guarantee, slotoracle.go for the slot rules beyond S4, inflight.go for the limit of snapshots in
// flight, counts.go for the counts of status, fleet.go for ClusterSnapshotSchedules, endstate.go what L1 compares, fleetstate.go the part of it that is about
// ClusterSnapshotSchedules. They share state.go (what the API server held at any moment), window.go (what the guards before a delete could
// know), cache.go (what only the operator's cache could show), and the contract: spec.go, snapshot.go, slots.go, cron.go and retention.go. queries.go answers questions of other packages.
package oracle

import (
	"fmt"
	"time"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/history"
)

// Violation is one breach of a guarantee.
type Violation struct {
	// Oracle is the guarantee: "S1" to "S9", "L1" to "L3", "Slot" for the slot rules beyond S4, or a clause of the
	// contract, such as "FLEET-4".
	Oracle string
	// At is when, by the server's clock.
	At time.Time
	// Message says what happened, to which object, and what would have been right.
	Message string
	// Change and Request are the indexes in the history; -1 if there is none.
	Change, Request int
}

// Judge judges every guarantee that a history alone can break: all but L1, which compares two end states.
func Judge(h *history.History) []Violation { return JudgeAll(h).Violations }

// JudgeAll is Judge, and returns what only the operator's cache allowed as well.
func JudgeAll(h *history.History) (found Findings) {
	whole := func(judge func(*history.History) []Violation) func(*history.History) Findings {
		return func(h *history.History) Findings { return Findings{Violations: judge(h)} }
	}
	for _, judge := range []func(*history.History) Findings{
		whole(S1), s2, whole(S3), s4, whole(S5), whole(S6), whole(S7), whole(S8), whole(S9), whole(OneAtATime), whole(Fleet), whole(L2), whole(L3),
	} {
		f := judge(h)
		found.Violations, found.ByCache = append(found.Violations, f.Violations...), append(found.ByCache, f.ByCache...)
	}
	return found
}

// changeViolation is a violation by change i of a history.
func changeViolation(oracle string, h *history.History, i int, format string, args ...any) Violation {
	c := &h.Changes[i]
	return Violation{Oracle: oracle, At: c.At, Change: i, Request: c.Request, Message: fmt.Sprintf(format, args...)}
}

// requestViolation is a violation by request i of a history, described by verb, resource and name.
func requestViolation(oracle string, h *history.History, i int, what string) Violation {
	r := &h.Requests[i]
	return Violation{Oracle: oracle, At: r.At, Change: -1, Request: i, Message: fmt.Sprintf(
		"%s %s (group %q) %s/%s %s", r.Verb, r.Resource, r.Group, r.Namespace, r.Name, what)}
}
