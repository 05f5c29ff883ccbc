// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"fmt"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/history"
)

// S5: every DELETE carries UID and resourceVersion preconditions, whether or not
// it came through.
func S5(h *history.History) []Violation {
	var found []Violation
	for i := range h.Requests {
		r := &h.Requests[i]
		var missing string
		switch {
		case r.Verb == "deletecollection":
			missing = "anything that says which objects it means"
		case r.Verb != "delete":
			continue
		case r.UID == "":
			missing = "a UID precondition"
		case r.ResourceVersion == "":
			missing = "a resourceVersion precondition"
		default:
			continue
		}
		found = append(found, Violation{Oracle: "S5", At: r.At, Change: -1, Request: i,
			Message: fmt.Sprintf("%s %s %s/%s was sent without %s", r.Verb, r.Resource, r.Namespace, r.Name, missing)})
	}
	return found
}
