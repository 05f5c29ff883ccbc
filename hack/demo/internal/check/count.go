// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"

	"mapcontroller.dev/snapshotschedule/hack/demo/internal/record"
)

// Count: each selected PVC has at most as many snapshots as interval and TTL say.
//
// TTL/interval intervals fit in a TTL. One more is there for a moment when the
// newest is taken just before the oldest goes; and as the times are in whole
// seconds, and a take may be late by some, a second one. Snapshots being
// deleted don't count: they are the storage's. That there are no fewer follows
// from Slots and Expiry.
func Count(w record.World, t Terms) Result {
	var wrong faults
	most := int(t.TTL/t.Interval) + 2
	peak := 0
	for _, claim := range t.Selected {
		had := atOnce(w.Series(claim))
		if had > most {
			wrong.add("%s had %d at once", claim, had)
		}
		peak = max(peak, had)
	}
	expected := fmt.Sprintf("with one each %s, each for %s, a PVC never has more than %d", seconds(t.Interval), seconds(t.TTL), most)
	return wrong.result("count", expected, fmt.Sprintf("%d at most", peak))
}

// atOnce is how many of the snapshots were live at a time, at most.
func atOnce(series []record.Snapshot) int {
	most := 0
	for _, one := range series {
		live := 0
		for _, s := range series {
			if !s.Created.After(one.Created) && (s.Deleted.IsZero() || s.Deleted.After(one.Created)) {
				live++
			}
		}
		most = max(most, live)
	}
	return most
}
