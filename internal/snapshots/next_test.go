// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// drawMapCase draws a PVC with a schedule and snapshots, in any state.
func drawMapCase(t *rapid.T) *mapCase {
	duration := rapid.SampledFrom([]v1alpha1.Duration{"", "", "30m", "1h", "5h", "8h", "1d"})
	s := every(rapid.SampledFrom([]v1alpha1.Duration{"1h", "6h", "1d"}).Draw(t, "interval")).
		ttl(duration.Draw(t, "ttl")).deadline(duration.Draw(t, "deadline")).
		minReady(rapid.Int32Range(0, 2).Draw(t, "minReady"))
	if rapid.Bool().Draw(t, "jitter") {
		s.jitter("50m")
	}
	if rapid.Bool().Draw(t, "requested") {
		s.requested(stamp(drawTime(t, "requestedAt")))
	}
	if s.Spec.Suspend = rapid.IntRange(0, 3).Draw(t, "suspend") == 0; rapid.Bool().Draw(t, "capped") {
		s.maxCount(2)
	}
	s.Spec.Retention.Keep.Last = rapid.Int32Range(0, 2).Draw(t, "last")
	tc := &mapCase{schedule: s, claim: claim("data").created(drawTime(t, "created").Add(-8 * time.Hour))}
	for i := range rapid.IntRange(0, 4).Draw(t, "snapshots") {
		age := time.Duration(rapid.IntRange(0, 30*60).Draw(t, "age")) * time.Minute
		build := rapid.SampledFrom([]func(time.Duration) aSnapshot{uncut, uploading, erring, ready, ready}).Draw(t, "state")
		v := build(age).named(fmt.Sprint("s", i))
		switch rapid.IntRange(0, 9).Draw(t, "oddity") {
		case 0:
			v.scheduledAt(stamp(drawTime(t, "scheduledAt")))
		case 1:
			v.cut(drawTime(t, "cut"))
		case 2:
			v.deleting()
		case 3:
			v.held()
		}
		tc.snapshots = append(tc.snapshots, v)
	}
	return tc
}

func drawTime(t *rapid.T, label string) time.Time {
	return ago(time.Duration(rapid.IntRange(-10*60, 30*60).Draw(t, label)) * time.Minute)
}

// Nothing that a pass would do or say changes before the next look that the
// pass before asked for.
//
// Contract: SLOT-12.
func TestNothingChangesBeforeTheNextLook(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tc := drawMapCase(t)
		m, r := tc.mapper(), tc.request()
		decide := m.Map
		if rapid.IntRange(0, 2).Draw(t, "tombstone") == 0 {
			decide = m.Tombstone
			r.Input = nil
		}
		first := decide(r)
		horizon := r.Now.Add(40 * time.Hour)
		if !first.Next.IsZero() {
			if !first.Next.After(r.Now) {
				t.Fatalf("next look %v is not after now", first.Next)
			}
			horizon = first.Next
		}
		// The last instant before the look, and one in between.
		seconds := int(horizon.Sub(r.Now) / time.Second)
		for _, later := range []time.Time{
			horizon.Add(-time.Nanosecond),
			r.Now.Add(time.Duration(rapid.IntRange(0, max(0, seconds-1)).Draw(t, "later")) * time.Second),
		} {
			r.Now = later
			again := decide(r)
			if a, b := read(first, r.Outputs), read(again, r.Outputs); !reflect.DeepEqual(a.delete, b.delete) || !reflect.DeepEqual(a.create, b.create) {
				t.Fatalf("at %v: %+v\nbefore: %+v", later, b, a)
			}
			if !reflect.DeepEqual(first.Note, again.Note) {
				t.Fatalf("at %v: note %+v\nbefore: %+v\nnext look: %v", later, again.Note, first.Note, first.Next)
			}
		}
	})
}

// Once a missed slot's snapshot would have expired, it can't be called overdue
// any more: the status says so when that time comes, not at the next slot.
//
// Contract: SLOT-12.
func TestOverdueIsLookedAtAgain(t *testing.T) {
	runMap(t, map[string]mapCase{
		"when it can't be judged any more": {
			schedule: every("6h").ttl("8h").deadline("30m"), wantProblem: v1alpha1.ReasonSnapshotOverdue, wantNext: in(time.Hour),
		},
		"at the next slot without a TTL": {
			schedule: every("6h").deadline("30m"), wantProblem: v1alpha1.ReasonSnapshotOverdue, wantNext: in(5 * time.Hour),
		},
	})
}

// What a pass deletes, and the PVC, are the same whichever order the cache
// returns the snapshots in.
func TestOrderOfTheCacheDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tc := drawMapCase(t)
		r := tc.request()
		first := read(tc.mapper().Map(r), r.Outputs)
		r.Outputs = rapid.Permutation(r.Outputs).Draw(t, "order")
		again := read(tc.mapper().Map(r), r.Outputs)
		if !reflect.DeepEqual(first.delete, again.delete) || !reflect.DeepEqual(first.create, again.create) ||
			!reflect.DeepEqual(first.result.Note, again.result.Note) || !first.result.Next.Equal(again.result.Next) {
			t.Fatalf("%+v\n%+v", first, again)
		}
	})
}
