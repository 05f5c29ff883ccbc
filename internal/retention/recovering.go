// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"slices"
	"time"
)

// recovering reports whether a snapshot that is cut and not ready may have been
// one of the floor until now: the floor lacks ready ones.
func (e *evaluation) recovering(i int) bool {
	return len(e.ready) < e.minReady && e.series.Snapshots[i].mayRecover(e.now, e.readyDeadline)
}

// mayRecover reports whether a snapshot that is cut and not ready may have been ready
// until now: the error, if there is one, is younger than readyDeadline. No field says
// when a snapshot lost its readiness, but status.error.time, when the error last
// changed, is not earlier.
func (s *Snapshot) mayRecover(now time.Time, readyDeadline time.Duration) bool {
	return !s.ReadyToUse && s.HasCutTime && !s.Deleting && (!s.HasError || now.Before(s.ErrorTime.Add(readyDeadline)))
}

// spareRecovering also keeps what would be kept if every snapshot with a recent error were ready:
// an error that passes must not cost what tiers or the cap keep. The snapshot controller takes the
// readiness of a snapshot whose VolumeSnapshotContent it does not find.
func (d *Decision) spareRecovering(policy Policy, now time.Time, series Series) {
	all := series.Snapshots
	series.Snapshots = nil
	for i := range all {
		s := &all[i]
		if s.ReadyToUse || s.Uncut() || !s.HasError || !now.Before(s.ErrorTime.Add(policy.ReadyDeadline)) {
			continue
		}
		if series.Snapshots == nil {
			series.Snapshots = slices.Clone(all)
		}
		series.Snapshots[i].ReadyToUse, series.Snapshots[i].HasError = true, false
	}
	if series.Snapshots == nil || !slices.ContainsFunc(d.Verdicts, Verdict.Delete) {
		return
	}
	for i, v := range decide(policy, now, series).Verdicts {
		switch {
		case v.Delete() || !d.Verdicts[i].Delete() || d.Verdicts[i].Urgent():
		case all[i].ReadyToUse:
			d.Verdicts[i] = v
		default:
			d.Verdicts[i] = Recovering
		}
	}
}
