// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package retention

// enforceCap deletes the snapshots beyond maxCount: the oldest first, those kept
// by age before those kept by a tier. Snapshots that are held or deleted anyway
// do not count. The newest snapshot of a selected PVC is never deleted, because
// its slot would be due again.
//
// The floor overrides the cap: with a maxCount below minReady, or with tiers that
// keep older snapshots than the floor, up to minReady - 1 more may remain.
func (e *evaluation) enforceCap() {
	if e.maxCount <= 0 {
		return
	}
	excess := -e.maxCount
	for _, i := range e.ready {
		if e.verdicts[i].capped() {
			excess++
		}
	}
	for _, byTier := range [...]bool{false, true} {
		for k := len(e.ready) - 1; k >= 0 && excess > 0; k-- {
			i := e.ready[k]
			if v := e.verdicts[i]; !v.capped() || v.ByTier() != byTier || e.coversSlot(i) {
				continue
			}
			e.verdicts[i] = OverCap
			excess--
		}
	}
}

// capped reports whether a ready snapshot with this verdict counts for the cap.
func (v Verdict) capped() bool {
	return v == NoLimit || v == WithinTTL || v == KeptNewest || v.ByTier()
}
