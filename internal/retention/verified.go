// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"slices"
	"time"
)

// Drill returns when the last drill of the snapshot was, zero if there was none, and
// whether it succeeded. Of a success and a failure the later one counts, and of two at the
// same time the failure. Times after now are ignored.
func (s *Snapshot) Drill(now time.Time) (at time.Time, verified bool) {
	success, failure := s.VerifiedAt, s.VerifyFailedAt
	if success.After(now) {
		success = time.Time{}
	}
	if failure.After(now) {
		failure = time.Time{}
	}
	if success.After(failure) {
		return success, true
	}
	return failure, false
}

// keepVerified keeps the newest minVerified ready snapshots that are verified, however
// old, and adds to Floor those that it lacks. Everything else is decided before, as if
// there were no drills: what is kept here costs no other snapshot its place, and a failed
// drill costs a snapshot nothing but its place here.
func (d *Decision) keepVerified(policy Policy, now time.Time, series Series) {
	left := policy.limitsFor(series.Claim).minVerified
	if left <= 0 {
		return
	}
	for _, r := range newestFirst(series.Snapshots, now) {
		s, verdict := &series.Snapshots[r.index], &d.Verdicts[r.index]
		if _, verified := s.Drill(now); !verified || left == 0 {
			continue
		}
		switch {
		case s.IsReady():
			left--
			if verdict.Delete() {
				*verdict = Verified
			}
			if !slices.Contains(d.Floor, r.index) {
				d.Floor = append(d.Floor, r.index)
			}
		case verdict.Delete() && s.mayRecover(now, policy.ReadyDeadline):
			*verdict = Recovering // an older one stays as well
		}
	}
}
