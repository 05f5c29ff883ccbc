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

// noon is the now of the tables, a Monday.
var noon = time.Date(2026, 6, 15, 12, 0, 0, 0, time.UTC)

// The builders make a snapshot of an age at noon, named after it, taken on time.

// ready was cut at once and can be restored from.
func ready(age time.Duration) Snapshot {
	s := uploading(age)
	s.ReadyToUse = true
	return s
}

// uploading is cut and not ready, without an error.
func uploading(age time.Duration) Snapshot {
	s := uncut(age)
	s.HasCutTime, s.CutTime = true, s.Created
	return s
}

// erring is cut and not ready, with an error.
func erring(age time.Duration) Snapshot {
	s := uploading(age)
	s.HasError = true
	return s
}

// uncut has no data yet.
func uncut(age time.Duration) Snapshot {
	at := noon.Add(-age)
	return Snapshot{Name: fmt.Sprintf("aged-%v", age), Created: at, ScheduledAt: at}
}

func (s Snapshot) held(h Hold) Snapshot       { s.Hold = h; return s }
func (s Snapshot) deleting() Snapshot         { s.Deleting = true; return s }
func (s Snapshot) cut(at time.Time) Snapshot  { s.HasCutTime, s.CutTime = true, at; return s }
func (s Snapshot) slot(at time.Time) Snapshot { s.ScheduledAt = at; return s }
func (s Snapshot) named(name string) Snapshot { s.Name = name; return s }
func (s Snapshot) want(v Verdict) judged      { return judged{s, v} }
func readies(ages ...time.Duration) (all []Snapshot) {
	for _, age := range ages {
		all = append(all, ready(age))
	}
	return all
}

// judged is a snapshot and what is to become of it.
type judged struct {
	Snapshot
	verdict Verdict
}

// decideCase is a row of a table.
type decideCase struct {
	policy Policy // ReadyDeadline 0: 1h
	series Series // Snapshots are those of want
	want   []judged
	// wantFloor and wantNext are looked at if checkRest is set.
	checkRest bool
	wantFloor []int
	wantNext  time.Duration // after noon; 0: never
}

func runDecide(t *testing.T, tests map[string]decideCase) {
	t.Helper()
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if tc.policy.ReadyDeadline == 0 {
				tc.policy.ReadyDeadline = time.Hour
			}
			for _, j := range tc.want {
				tc.series.Snapshots = append(tc.series.Snapshots, j.Snapshot)
			}
			got := Decide(tc.policy, noon, tc.series)
			for i, j := range tc.want {
				if got.Verdicts[i] != j.verdict {
					t.Errorf("%d, %s: %v, want %v", i, j.Name, got.Verdicts[i], j.verdict)
				}
			}
			if !tc.checkRest {
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
