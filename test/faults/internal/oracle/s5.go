// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle

import "mapcontroller.dev/snapshotschedule/test/faults/internal/history"

// S5: every DELETE carries UID and resourceVersion preconditions, whether or not it reached the API server.
func S5(h *history.History) []Violation {
	var found []Violation
	for i := range h.Requests {
		r := &h.Requests[i]
		var missing string
		switch {
		case r.Verb == "deletecollection":
			missing = "preconditions"
		case r.Verb != "delete":
			continue
		case r.UID == "":
			missing = "a UID precondition"
		case r.ResourceVersion == "":
			missing = "a resourceVersion precondition"
		default:
			continue
		}
		found = append(found, requestViolation("S5", h, i, "was sent without "+missing))
	}
	return found
}
