// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"fmt"
	"slices"
	"time"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/history"
)

// samples is how often a window is judged.
const samples = 20

// L3: while one PVC cannot be snapshotted, snapshots of the others are taken and deleted in time. Only a window that is longer than
// ReactionTime, and free of other faults for as long, can be judged. And no list has more objects than a page: one namespace must not
// exhaust the operator's memory.
func L3(h *history.History) []Violation {
	var found []Violation
	judged, windows := false, 0
	for _, w := range h.Windows {
		if w.Kind != history.Broken {
			continue
		}
		windows++
		first, end := w.From.Add(ReactionTime), endOf(w, h)
		for i := range samples {
			at := end.Add(-end.Sub(first) * time.Duration(i) / samples)
			if at.Before(first) {
				break
			}
			judged = true
			if !disturbed(h, at.Add(-ReactionTime), at, history.Faulty, history.Skewed, history.Unsynced) {
				then, _ := stateAt(h, at.Add(-ReactionTime))
				now, last := stateAt(h, at)
				for _, what := range delays(then, now, at, w.Object) {
					found = append(found, Violation{Oracle: "L3", At: at, Change: last, Request: -1, Message: what})
				}
			}
		}
	}
	if windows > 0 && !judged {
		found = append(found, Violation{Oracle: "L3", At: h.Ended, Change: -1, Request: -1, Message: fmt.Sprintf(
			"no PVC was broken for longer than %s, so that nothing could be judged", ReactionTime)})
	}
	seen := map[string]bool{}
	found = append(found, unpagedLists(h)...)
	return slices.DeleteFunc(found, func(v Violation) bool { // keep the first report of each object
		had := seen[v.Message]
		seen[v.Message] = true
		return had
	})
}

// tenants are the resources of which one namespace may have any number.
var tenants = []string{"persistentvolumeclaims", "volumesnapshots", "snapshotschedules"}

func unpagedLists(h *history.History) []Violation {
	var found []Violation
	for i := range h.Requests {
		if r := &h.Requests[i]; r.Unpaged && slices.Contains(tenants, r.Resource) {
			found = append(found, requestViolation("L3", h, i, "was not limited to a page"))
		}
	}
	return found
}
