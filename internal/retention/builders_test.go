// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"fmt"
	"slices"
	"testing"
	"time"
	_ "time/tzdata" // the tests must not depend on the machine's zones
)

const day = 24 * time.Hour

// The tiers, as the tables of these tests name them.
const (
	Last = iota
	Hourly
	Daily
	Weekly
	Monthly
	Yearly

	KeptHourly  = KeptLast + Hourly
	KeptDaily   = KeptLast + Daily
	KeptWeekly  = KeptLast + Weekly
	KeptMonthly = KeptLast + Monthly
	KeptYearly  = KeptLast + Yearly
)

// noon is the now of the tables, a Monday.
var noon = time.Date(2026, 6, 15, 12, 0, 0, 0, time.UTC)

// The next four functions build a snapshot of an age at noon, named after that
// age and created at its slot.

// ready returns a snapshot that was cut at once and is ready.
func ready(age time.Duration) Snapshot {
	s := uploading(age)
	s.ReadyToUse = true
	return s
}

// uploading returns a snapshot that is cut and not ready, without an error.
func uploading(age time.Duration) Snapshot {
	s := uncut(age)
	s.HasCutTime, s.CutTime = true, s.Created
	return s
}

// inError returns a snapshot that is cut and not ready, with an error.
func inError(age time.Duration) Snapshot {
	s := uploading(age)
	s.HasError = true
	return s
}

// uncut returns a snapshot without data.
func uncut(age time.Duration) Snapshot {
	at := noon.Add(-age)
	return Snapshot{Name: fmt.Sprintf("aged-%v", age), Created: at, ScheduledAt: at}
}

// imported returns a snapshot of existing data, without a slot, which the
// snapshot controller has not made ready yet, and perhaps never does.
func imported(age time.Duration) Snapshot {
	s := uncut(age).slot(time.Time{})
	s.Imported = true
	return s
}

// importedReady returns an imported snapshot that is ready.
func importedReady(age time.Duration) Snapshot {
	s := imported(age)
	s.ReadyToUse = true
	return s
}

// readyUncut returns a snapshot that is ready without a creation time.
func readyUncut(age time.Duration) Snapshot {
	s := uncut(age)
	s.ReadyToUse = true
	return s
}

func (s Snapshot) held(until time.Time) Snapshot { s.HeldUntil = until; return s }
func (s Snapshot) restoring() Snapshot           { s.Restoring = true; return s }
func (s Snapshot) deleting() Snapshot            { s.Deleting = true; return s }
func (s Snapshot) failing() Snapshot             { s.HasError = true; return s }
func (s Snapshot) since(at time.Time) Snapshot   { s.ErrorTime = at; return s }
func (s Snapshot) cut(at time.Time) Snapshot     { s.HasCutTime, s.CutTime = true, at; return s }
func (s Snapshot) slot(at time.Time) Snapshot    { s.ScheduledAt = at; return s }
func (s Snapshot) named(name string) Snapshot    { s.Name = name; return s }
func (s Snapshot) want(v Verdict) expected       { return expected{s, v} }

// verified and verifyFailed return a snapshot whose drill ended so long before noon.
func (s Snapshot) verified(ago time.Duration) Snapshot { s.VerifiedAt = noon.Add(-ago); return s }

func (s Snapshot) verifyFailed(ago time.Duration) Snapshot {
	s.VerifyFailedAt = noon.Add(-ago)
	return s
}

// expected is a snapshot with the verdict on it.
type expected struct {
	Snapshot
	verdict Verdict
}

// decideCase is a case of a table for Decide.
type decideCase struct {
	policy Policy // ReadyDeadline defaults to 1h
	series Series // its Snapshots are those of want
	want   []expected
	// checkAll compares Floor and Next too.
	checkAll  bool
	wantFloor []int
	wantNext  time.Duration // after noon; 0: never
}

func testDecide(t *testing.T, tests map[string]decideCase) {
	t.Helper()
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if tc.policy.ReadyDeadline == 0 {
				tc.policy.ReadyDeadline = time.Hour
			}
			for _, e := range tc.want {
				tc.series.Snapshots = append(tc.series.Snapshots, e.Snapshot)
			}
			got := Decide(tc.policy, noon, tc.series)
			for i, e := range tc.want {
				if got.Verdicts[i] != e.verdict {
					t.Errorf("%d, %s: %v, want %v", i, e.Name, got.Verdicts[i], e.verdict)
				}
			}
			if !tc.checkAll {
				return
			}
			if !slices.Equal(got.Floor, tc.wantFloor) {
				t.Errorf("Floor = %v, want %v", got.Floor, tc.wantFloor)
			}
			switch {
			case tc.wantNext == 0 && !got.Next.IsZero():
				t.Errorf("Next = %v, want none", got.Next)
			case tc.wantNext != 0 && !got.Next.Equal(noon.Add(tc.wantNext)):
				t.Errorf("Next = noon + %v, want noon + %v", got.Next.Sub(noon), tc.wantNext)
			}
		})
	}
}
