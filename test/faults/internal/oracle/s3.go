// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"k8s.io/apimachinery/pkg/types"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/history"
)

// S3: after any delete by the operator, the series of an existing PVC has at least minReady ready snapshots, if it had them at the
// guards' live reads. What others did between the reads and the delete does not count.
func S3(h *history.History) []Violation {
	var found []Violation
	eachDeletion(h, func(d deletion, st *state) {
		id := seriesOf(d.snapshot)
		if id.schedule == "" || !isReady(d.snapshot) || st.claims[types.UID(id.mapKey)] == nil {
			return
		}
		if left, floor, ok := d.readyLeft(h, d.views(h, st)); !ok {
			found = append(found, d.violation("S3",
				": %d ready ones are left of the PVC's series, and minReady is %d", left, floor))
		}
	})
	return found
}

// readyLeft returns ok if at some moment the operator's deletes since then leave enough. Otherwise it returns the most that were left,
// and how many had to be.
func (d deletion) readyLeft(h *history.History, views []*view) (left, floor int, ok bool) {
	left = -1
	for _, v := range views {
		if v.schedule == nil {
			continue
		}
		spec, err := ReadSpec(&v.schedule.Spec)
		if err != nil {
			continue
		}
		ready := readyOnes(v.series)
		if len(ready) < spec.minReady {
			return 0, 0, true // S2 judges a series that did not have them
		}
		deleted := d.deletedSince(h)
		n := 0
		for _, s := range ready {
			if !deleted[s.UID] {
				n++
			}
		}
		if n >= spec.minReady {
			return 0, 0, true
		}
		if n > left {
			left, floor = n, spec.minReady
		}
	}
	return max(left, 0), floor, left < 0
}

// deletedSince returns what the operator deleted in the guards' window, up to this delete.
func (d deletion) deletedSince(h *history.History) map[types.UID]bool {
	deleted := map[types.UID]bool{d.snapshot.UID: true}
	windowStart := d.windowStart()
	for i := d.index - 1; i >= 0 && !h.Changes[i].At.Before(windowStart); i-- {
		if other, ok := deletionAt(h, i); ok {
			deleted[other.snapshot.UID] = true
		}
	}
	return deleted
}
