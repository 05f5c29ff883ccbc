/*
Copyright 2026 The SnapshotSchedule Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

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
