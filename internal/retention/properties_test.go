// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// At least minReady ready snapshots remain, if there were as many, and those of
// Decision.Floor are ready and remain (guarantee S3).
//
// Contract: RET-6.
func TestDecideKeepsMinReady(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPolicy(t)
		s := drawSeries(t, p, false)
		d := Decide(p, noon, s)
		minReady := p.limitsFor(s.Claim).minReady
		before, after := countReady(s), countReady(remaining(s, d))
		if after < min(before, minReady) {
			t.Fatalf("%d of %d ready snapshots remain, minReady %d: %v", after, before, minReady, d.Verdicts)
		}
		if len(d.Floor) < min(before, minReady) {
			t.Fatalf("Floor = %v with %d ready snapshots, minReady %d", d.Floor, before, minReady)
		}
		for _, i := range d.Floor {
			if !s.Snapshots[i].IsReady() || d.Verdicts[i].Delete() {
				t.Fatalf("Floor %v contains %d, which is %v", d.Floor, i, d.Verdicts[i])
			}
		}
		if slices.Contains(d.Verdicts, Superseded) && len(d.Floor) == 0 && !s.VolumeFull {
			t.Fatalf("Superseded without a floor: %v", d.Verdicts)
		}
	})
}

func TestDecideNeverDeletesHeldOrTerminating(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPolicy(t)
		s := drawSeries(t, p, false)
		for i, v := range Decide(p, noon, s).Verdicts {
			x := &s.Snapshots[i]
			held := !x.Uncut() && (x.HeldUntil.After(noon) || x.Restoring)
			if v.Delete() && (held || x.Deleting) {
				t.Fatalf("%+v: %v", x, v)
			}
		}
	})
}

// Contract: SLOT-12.
func TestDecisionDoesNotChangeBeforeNext(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPolicy(t)
		s := drawSeries(t, p, false)
		d := Decide(p, noon, s)
		if !d.Next.IsZero() && !d.Next.After(noon) {
			t.Fatalf("Next = %v", d.Next)
		}
		until := d.Next
		if until.IsZero() {
			until = noon.AddDate(100, 0, 0)
		}
		then := until.Add(-1)
		if rapid.Bool().Draw(t, "sooner") {
			then = noon.Add(time.Duration(rapid.Int64Range(0, int64(until.Sub(noon))-1).Draw(t, "then")))
		}
		later := Decide(p, then, s)
		if later.Take != d.Take || !slices.Equal(later.Verdicts, d.Verdicts) ||
			!slices.Equal(later.Floor, d.Floor) || !later.Next.Equal(d.Next) {
			t.Fatalf("at noon %+v, at %v %+v", d, then, later)
		}
		for i := range s.Snapshots {
			if x := &s.Snapshots[i]; x.State(noon, p.ReadyDeadline) != x.State(then, p.ReadyDeadline) {
				t.Fatalf("the State of %+v changes before %v", x, d.Next)
			}
		}
	})
}

// The exceptions are those that Decide documents; nothing is spared for an error here.
func TestDecideStillDeletesLater(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		regular := rapid.Bool().Draw(t, "regular")
		p := drawPolicy(t)
		if !regular {
			p.MaxCount = 0
		}
		s := drawSeries(t, p, regular)
		then := drawLater(t, s)
		now, later := decideWithoutSparing(p, noon, s), decideWithoutSparing(p, then, s)
		for i := range s.Snapshots {
			if now.Verdicts[i].Delete() && !later.Verdicts[i].Delete() {
				t.Fatalf("%s: %v at noon, %v at %v", s.Snapshots[i].Name, now.Verdicts[i], later.Verdicts[i], then)
			}
		}
	})
}

// Neither while the deleted snapshots are terminating nor once they are gone.
func TestDecideAgainDeletesNothingMore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPolicy(t)
		s := drawSeries(t, p, true)
		d := Decide(p, noon, s)
		terminating := s
		terminating.Snapshots = slices.Clone(s.Snapshots)
		for i, v := range d.Verdicts {
			terminating.Snapshots[i].Deleting = s.Snapshots[i].Deleting || v.Delete()
		}
		for _, after := range []Series{terminating, remaining(s, d)} {
			again := Decide(p, noon, after)
			for i, v := range again.Verdicts {
				if v.Delete() {
					t.Fatalf("%s: %v after %v", after.Snapshots[i].Name, v, d.Verdicts)
				}
			}
		}
	})
}

func TestDecideIgnoresOrderOfInput(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPolicy(t)
		s := drawSeries(t, p, false)
		order := make([]int, len(s.Snapshots))
		for i := range order {
			order[i] = i
		}
		order = rapid.Permutation(order).Draw(t, "order")
		permuted := s
		permuted.Snapshots = nil
		for _, i := range order {
			permuted.Snapshots = append(permuted.Snapshots, s.Snapshots[i])
		}
		a, b := Decide(p, noon, s), Decide(p, noon, permuted)
		for k, i := range order {
			if a.Verdicts[i] != b.Verdicts[k] {
				t.Fatalf("%s: %v or %v", s.Snapshots[i].Name, a.Verdicts[i], b.Verdicts[k])
			}
		}
		if !a.Next.Equal(b.Next) || len(a.Floor) != len(b.Floor) {
			t.Fatalf("%+v or %+v", a, b)
		}
		if a.Take.Due != b.Take.Due || a.Take.Block != b.Take.Block ||
			(a.Take.Blocker >= 0 && order[b.Take.Blocker] != a.Take.Blocker) {
			t.Fatalf("Take = %+v or %+v", a.Take, b.Take)
		}
	})
}

// Drivers report 1970, or next year.
//
// Contract: RET-8.
func TestDecideIgnoresImpossibleCreationTimes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPolicy(t)
		s := drawSeries(t, p, true)
		right, wrong := s, s
		right.Snapshots, wrong.Snapshots = slices.Clone(s.Snapshots), slices.Clone(s.Snapshots)
		for i := range s.Snapshots {
			if s.Snapshots[i].HasCutTime {
				right.Snapshots[i].CutTime = s.Snapshots[i].Created
				wrong.Snapshots[i].CutTime = rapid.SampledFrom([]time.Time{
					{}, time.Unix(0, 0), noon.Add(1), noon.AddDate(1, 0, 0), noon.AddDate(9000, 0, 0),
				}).Draw(t, "wrong")
			}
		}
		if a, b := Decide(p, noon, right), Decide(p, noon, wrong); !slices.Equal(a.Verdicts, b.Verdicts) {
			t.Fatalf("%v, but %v with wrong creation times", a.Verdicts, b.Verdicts)
		}
	})
}

// A driver's creation time changes the age of a snapshot and nothing else: not
// the tiers, the cap or the floor.
func TestDecideWithoutTTLIgnoresCreationTimes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPolicy(t)
		p.TTL, p.Detached.TTL = 0, 0
		s := drawSeries(t, p, true)
		wrong := s
		wrong.Snapshots = slices.Clone(s.Snapshots)
		for i := range wrong.Snapshots {
			if wrong.Snapshots[i].HasCutTime {
				wrong.Snapshots[i].CutTime = noon.Add(-drawAge(t, "wrong"))
			}
		}
		a, b := Decide(p, noon, s), Decide(p, noon, wrong)
		for i := range s.Snapshots {
			if s.Snapshots[i].ReadyToUse && a.Verdicts[i] != b.Verdicts[i] {
				t.Fatalf("%s: %v, but %v with a wrong creation time", s.Snapshots[i].Name, a.Verdicts[i], b.Verdicts[i])
			}
		}
	})
}

// What a backup tool creates again, all at once, is in the periods of its slots.
//
// Contract: RET-3.
func TestRestoredSeriesIsKeptAsBefore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPolicy(t)
		p.TTL, p.Detached.TTL = 0, 0
		s := drawSeries(t, p, true)
		s.Snapshots = slices.DeleteFunc(s.Snapshots, func(x Snapshot) bool { return !x.IsReady() })
		restored := s
		restored.Snapshots = slices.Clone(s.Snapshots)
		for i := range restored.Snapshots {
			restored.Snapshots[i].Created, restored.Snapshots[i].CutTime = noon, noon
		}
		if a, b := Decide(p, noon, s), Decide(p, noon, restored); !slices.Equal(a.Verdicts, b.Verdicts) {
			t.Fatalf("%v, but %v once restored", a.Verdicts, b.Verdicts)
		}
	})
}

// A PVC that is created again under its name may be cut into the series of the old
// one (docs/contribute/faults.md). Where age alone decides, that displaces no good snapshot.
func TestDecideByAgeAloneIsNotDisplaced(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPolicy(t)
		p.Keep, p.MaxCount, p.Detached.MinReady = Tiers{}, 0, 0
		s := drawSeries(t, p, false)
		s.Claim = Gone
		before := Decide(p, noon, s)
		of := ready(time.Duration(rapid.IntRange(0, 60).Draw(t, "minutes ago")) * time.Minute)
		of.Name = "of-another"
		s.Snapshots = append(s.Snapshots, of)
		after := Decide(p, noon, s)
		for i, v := range before.Verdicts {
			if s.Snapshots[i].IsReady() && v.Delete() != after.Verdicts[i].Delete() {
				t.Fatalf("%+v: %v, with another PVC's in the series %v", s.Snapshots[i], v, after.Verdicts[i])
			}
		}
	})
}
