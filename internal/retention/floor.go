// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package retention

// enforceFloor keeps the newest minReady ready snapshots, however old. Held ones
// count. It returns their indexes, newest first.
func (e *evaluation) enforceFloor() []int {
	size := min(max(e.minReady, 0), len(e.ready))
	floor := e.ready[:size:size]
	for _, i := range floor {
		if e.verdicts[i].Delete() {
			e.verdicts[i] = Floor
		}
	}
	for i, v := range e.verdicts {
		if v == Expired && e.recovering(i) {
			e.verdicts[i] = Recovering
		}
	}
	return floor
}

// supersede deletes cut snapshots that failed or lost their readiness, where no
// TTL ever deletes them, once they are older than every ready snapshot that is
// kept. A policy without TTL, tiers and cap keeps everything. supersede returns
// the index of the oldest ready snapshot that is kept if it deleted any, else -1.
func (e *evaluation) supersede() int {
	if e.ttl > 0 || (e.keep == Tiers{} && e.maxCount <= 0) {
		return -1
	}
	oldest := -1
	for _, i := range e.ready {
		if !e.verdicts[i].Delete() && (oldest < 0 || e.ageBase(i).Before(e.ageBase(oldest))) {
			oldest = i
		}
	}
	if oldest < 0 {
		return -1
	}
	reference := -1
	for i := range e.verdicts {
		if e.supersedable(i) && e.ageBase(i).Before(e.ageBase(oldest)) {
			e.verdicts[i] = Superseded
			reference = oldest
		}
	}
	return reference
}

// supersedable reports whether a snapshot was taken and cut, is not ready and does
// not seem to recover, is beyond readyDeadline, and is not needed to cover a slot.
func (e *evaluation) supersedable(i int) bool {
	s := &e.series.Snapshots[i]
	return e.verdicts[i] == Unready && !s.Uncut() && !s.Imported && !e.coversSlot(i) && !e.recovering(i) &&
		!e.now.Before(s.Created.Add(e.readyDeadline))
}

// makePlace deletes the cut snapshots that failed, so that the next one has a place in the
// volume: one that is not ready cannot be restored from.
func (e *evaluation) makePlace() {
	for i, v := range e.verdicts {
		if e.failedWithData(i) && v != Recovering && !v.Delete() && !e.recovering(i) {
			e.verdicts[i] = Superseded
		}
	}
}

// freeClaim deletes the cut snapshots that failed, so that their PVC, which is being deleted, can
// go: if a newer one is ready, or as many as minReady are. The floor has those on which that depends.
func (e *evaluation) freeClaim() {
	for i, v := range e.verdicts {
		newer := len(e.ready) > 0 && compareAge(&e.series.Snapshots[i], &e.series.Snapshots[e.ready[0]], e.now) < 0
		if e.failedWithData(i) && !v.Delete() && !e.recovering(i) && (newer || len(e.ready) >= e.minReady) {
			e.verdicts[i] = KeepsClaim
		}
	}
}

// failedWithData reports whether a snapshot is cut, failed and not held.
func (e *evaluation) failedWithData(i int) bool {
	s := &e.series.Snapshots[i]
	return s.State(e.now, e.readyDeadline) == Failed && !s.Uncut() && !e.verdicts[i].Held()
}
