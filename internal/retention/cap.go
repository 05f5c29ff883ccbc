// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package retention

// enforceCap deletes what is beyond maxCount: the oldest first, those kept by
// age before those kept by a tier. Held snapshots and those that go anyway do
// not count. The newest snapshot of a selected PVC is passed over: if it went,
// its slot would be due again.
//
// The floor has the last word, so that with maxCount below minReady, or with
// tiers that reach further back than the floor, up to minReady - 1 more may
// stay.
func (d *decider) enforceCap() {
	if d.maxCount <= 0 {
		return
	}
	excess := -d.maxCount
	for _, i := range d.ready {
		if d.verdicts[i].capped() {
			excess++
		}
	}
	for _, byTier := range [...]bool{false, true} {
		for k := len(d.ready) - 1; k >= 0 && excess > 0; k-- {
			i := d.ready[k]
			if v := d.verdicts[i]; !v.capped() || v.byTier() != byTier {
				continue
			}
			if d.serves(i) {
				continue
			}
			d.verdicts[i] = OverCap
			excess--
		}
	}
}

// capped reports whether a ready snapshot with this verdict counts for the cap.
func (v Verdict) capped() bool {
	return v == NoLimit || v == WithinTTL || v == KeptNewest || v.byTier()
}
