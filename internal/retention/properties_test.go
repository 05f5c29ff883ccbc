// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// S3: what is left still has minReady ready ones, if it had them; and the
// indexes that the guards read live are ready ones that stay.
//
// Contract: RET-6.
func TestTheFloorHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPolicy(t)
		s := drawSeries(t, p, false)
		d := Decide(p, noon, s)
		floor := p.limitsFor(s.Claim).minReady
		had, has := len(readyNames(s)), len(readyNames(without(s, d)))
		if has < min(had, floor) {
			t.Fatalf("%d of %d ready ones left, floor %d: %v", has, had, floor, d.Verdicts)
		}
		if len(d.Floor) < min(had, floor) {
			t.Fatalf("Floor = %v, of %d ready ones, floor %d", d.Floor, had, floor)
		}
		for _, i := range d.Floor {
			if !s.Snapshots[i].isReady() || d.Verdicts[i].Delete() {
				t.Fatalf("Floor %v has %d, which is %v", d.Floor, i, d.Verdicts[i])
			}
		}
		if slices.Contains(d.Verdicts, Superseded) && len(d.Floor) == 0 {
			t.Fatalf("Superseded rests on nothing: %v", d.Verdicts)
		}
	})
}

func TestHeldAndTerminatingOnesAreNeverDeleted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPolicy(t)
		s := drawSeries(t, p, false)
		for i, v := range Decide(p, noon, s).Verdicts {
			if x := &s.Snapshots[i]; v.Delete() && (x.Hold != HoldNone || x.Deleting) {
				t.Fatalf("%+v: %v", x, v)
			}
		}
	})
}

// Nothing changes before Next, and Next is to come.
//
// Contract: SLOT-12.
func TestNothingChangesBeforeNext(t *testing.T) {
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
		if later.Take != d.Take || !slices.Equal(later.Verdicts, d.Verdicts) || !slices.Equal(later.Floor, d.Floor) || !later.Next.Equal(d.Next) {
			t.Fatalf("at noon %+v, at %v %+v", d, then, later)
		}
		for i := range s.Snapshots {
			if x := &s.Snapshots[i]; x.State(noon, p.ReadyDeadline) != x.State(then, p.ReadyDeadline) {
				t.Fatalf("%+v changes its State before %v", x, d.Next)
			}
		}
	})
}

// What may be deleted at one time may be at any later one. See Decide for the
// two provisos.
func TestOnceDeletableAlwaysDeletable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		honest := rapid.Bool().Draw(t, "honest")
		p := drawPolicy(t)
		s := drawSeries(t, p, honest)
		if !honest {
			p.MaxCount = 0
		}
		then := shifted(t, s)
		now, later := Decide(p, noon, s), Decide(p, then, s)
		for i := range s.Snapshots {
			if now.Verdicts[i].Delete() && !later.Verdicts[i].Delete() {
				t.Fatalf("%s: %v at noon, %v at %v", s.Snapshots[i].Name, now.Verdicts[i], later.Verdicts[i], then)
			}
		}
	})
}

// Once the decision is carried out, there is nothing left to do; nor while the
// deleted ones are still terminating.
func TestDecidingAgainDeletesNothingMore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPolicy(t)
		s := drawSeries(t, p, true)
		d := Decide(p, noon, s)
		terminating := s
		terminating.Snapshots = slices.Clone(s.Snapshots)
		for i, v := range d.Verdicts {
			terminating.Snapshots[i].Deleting = s.Snapshots[i].Deleting || v.Delete()
		}
		for _, after := range []Series{without(s, d), terminating} {
			again := Decide(p, noon, after)
			for i, v := range again.Verdicts {
				if v.Delete() {
					t.Fatalf("%s: %v after %v", after.Snapshots[i].Name, v, d.Verdicts)
				}
			}
		}
	})
}

func TestTheOrderOfInputMakesNoDifference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPolicy(t)
		s := drawSeries(t, p, false)
		order := make([]int, len(s.Snapshots))
		for i := range order {
			order[i] = i
		}
		order = rapid.Permutation(order).Draw(t, "order")
		other := s
		other.Snapshots = nil
		for _, i := range order {
			other.Snapshots = append(other.Snapshots, s.Snapshots[i])
		}
		a, b := Decide(p, noon, s), Decide(p, noon, other)
		for k, i := range order {
			if a.Verdicts[i] != b.Verdicts[k] {
				t.Fatalf("%s: %v or %v", s.Snapshots[i].Name, a.Verdicts[i], b.Verdicts[k])
			}
		}
		if !a.Next.Equal(b.Next) || len(a.Floor) != len(b.Floor) {
			t.Fatalf("%+v or %+v", a, b)
		}
		x, y := a.Take, b.Take
		if x.Due != y.Due || x.Block != y.Block || (x.Blocker >= 0 && order[y.Blocker] != x.Blocker) {
			t.Fatalf("Take: %+v or %+v", x, y)
		}
	})
}

// Drivers report 1970, or next year. That changes nothing.
//
// Contract: RET-8.
func TestLyingCreationTimesChangeNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPolicy(t)
		s := drawSeries(t, p, true)
		truth, lies := s, s
		truth.Snapshots, lies.Snapshots = slices.Clone(s.Snapshots), slices.Clone(s.Snapshots)
		for i := range s.Snapshots {
			if s.Snapshots[i].HasCutTime {
				truth.Snapshots[i].CutTime = s.Snapshots[i].Created
				lies.Snapshots[i].CutTime = rapid.SampledFrom([]time.Time{
					{}, time.Unix(0, 0), noon.Add(1), noon.AddDate(1, 0, 0), noon.AddDate(9000, 0, 0),
				}).Draw(t, "lie")
			}
		}
		if a, b := Decide(p, noon, truth), Decide(p, noon, lies); !slices.Equal(a.Verdicts, b.Verdicts) {
			t.Fatalf("in truth %v, with lies %v", a.Verdicts, b.Verdicts)
		}
	})
}

// Whatever creation time a driver reports, and whenever, age is all it changes:
// without a TTL nothing.
func TestNoCreationTimeChangesTiersCapOrFloor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPolicy(t)
		s := drawSeries(t, p, true)
		p.TTL, p.Detached.TTL = 0, 0
		lies := s
		lies.Snapshots = slices.Clone(s.Snapshots)
		for i := range lies.Snapshots {
			if lies.Snapshots[i].HasCutTime {
				lies.Snapshots[i].CutTime = noon.Add(-drawAge(t, "lie"))
			}
		}
		a, b := Decide(p, noon, s), Decide(p, noon, lies)
		for i := range s.Snapshots {
			if s.Snapshots[i].ReadyToUse && a.Verdicts[i] != b.Verdicts[i] {
				t.Fatalf("%s: %v, with lies %v", s.Snapshots[i].Name, a.Verdicts[i], b.Verdicts[i])
			}
		}
	})
}
