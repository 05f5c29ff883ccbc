// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/history"
)

// S3: after any delete by the controller, the series of a PVC that exists has at
// least minReady ready snapshots, if it had them at the guards' live reads. What
// others did between the reads and the delete is not the controller's doing.
func S3(h *history.History) []Violation {
	var found []Violation
	eachDeletion(h, func(d deletion, w *world) {
		id := seriesOf(d.doomed)
		if id.schedule == "" || !isReady(d.doomed) || w.claims[types.UID(id.mapKey)] == nil {
			return
		}
		if left, floor, ok := d.floorHolds(h, d.views(h, w)); !ok {
			found = append(found, d.violation("S3", fmt.Sprintf(
				"%s was deleted: %d ready ones are left of the PVC's series, and minReady is %d", d.name(), left, floor)))
		}
	})
	return found
}

// floorHolds looks for a moment at which what the controller has deleted since
// left enough. Else it returns the most that was left, and of how many.
func (d deletion) floorHolds(h *history.History, views []*view) (left, floor int, ok bool) {
	left = -1
	for _, v := range views {
		if v.schedule == nil {
			continue
		}
		t, err := readTerms(&v.schedule.Spec)
		if err != nil {
			continue
		}
		ready := readyOnes(v.series)
		if len(ready) < t.minReady {
			return 0, 0, true // it did not have them: S2 judges
		}
		deleted := d.deletedSince(h)
		n := 0
		for _, s := range ready {
			if !deleted[s.UID] {
				n++
			}
		}
		if n >= t.minReady {
			return 0, 0, true
		}
		if n > left {
			left, floor = n, t.minReady
		}
	}
	return max(left, 0), floor, left < 0
}

// deletedSince are the snapshots that the operator deleted in the guards' window,
// up to this one.
func (d deletion) deletedSince(h *history.History) map[types.UID]bool {
	deleted := map[types.UID]bool{d.doomed.UID: true}
	opened := d.opened()
	for i := d.index - 1; i >= 0 && !h.Changes[i].At.Before(opened); i-- {
		if other, ok := deletionAt(h, i); ok {
			deleted[other.doomed.UID] = true
		}
	}
	return deleted
}
