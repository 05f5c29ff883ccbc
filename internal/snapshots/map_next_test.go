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
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
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
		s.requested(rfc3339(drawTime(t, "requestedAt")) + rapid.SampledFrom([]string{"", " data", " other"}).Draw(t, "requested of"))
	}
	if s.Spec.Suspend = rapid.IntRange(0, 3).Draw(t, "suspend") == 0; rapid.Bool().Draw(t, "capped") {
		s.maxCount(2)
	}
	s.Spec.Retention.Keep.Last = rapid.Int32Range(0, 2).Draw(t, "last")
	tc := &mapCase{schedule: s, claim: claim("data").created(drawTime(t, "created").Add(-8 * time.Hour))}
	for i := range rapid.IntRange(0, 4).Draw(t, "snapshots") {
		age := time.Duration(rapid.IntRange(0, 30*60).Draw(t, "age")) * time.Minute
		build := rapid.SampledFrom([]func(time.Duration) snapshotBuilder{uncut, uploading, erring, ready, ready}).Draw(t, "state")
		v := build(age).named(fmt.Sprint("s", i))
		switch rapid.IntRange(0, 9).Draw(t, "oddity") {
		case 0:
			v.scheduledAt(rfc3339(drawTime(t, "scheduledAt")))
		case 1:
			v.cut(drawTime(t, "cut"))
		case 2:
			v.deleting()
		case 3:
			v.heldUntil(rapid.SampledFrom([]string{"", rfc3339(drawTime(t, "held until"))}).Draw(t, "hold"))
		}
		tc.snapshots = append(tc.snapshots, v)
	}
	return tc
}

func drawTime(t *rapid.T, label string) time.Time {
	return ago(time.Duration(rapid.IntRange(-10*60, 30*60).Draw(t, label)) * time.Minute)
}

// checkSame fails if two decisions differ in what they create, delete or report.
func checkSame(t *rapid.T, a, b mapcontroller.Decision) {
	if !reflect.DeepEqual(slotsOf(a), slotsOf(b)) || !reflect.DeepEqual(deletesOf(a), deletesOf(b)) {
		t.Fatalf("creates %v and deletes %v\nthen creates %v and deletes %v", slotsOf(a), deletesOf(a), slotsOf(b), deletesOf(b))
	}
	if !reflect.DeepEqual(a.Status, b.Status) {
		t.Fatalf("status is %+v\nthen %+v", a.Status, b.Status)
	}
}

// Contract: SLOT-12.
func TestNothingChangesBeforeNext(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tc := drawMapCase(t)
		tc.gone = rapid.IntRange(0, 2).Draw(t, "tombstone") == 0
		decide, seen := tc.decider(t), tc.observe()
		first := decide(seen)
		horizon := noon.Add(40 * time.Hour)
		if !first.Next.IsZero() {
			if !first.Next.After(noon) {
				t.Fatalf("next is %v, which is not after now", first.Next)
			}
			horizon = first.Next
		}
		// The last instant before next, and one in between.
		seconds := int(horizon.Sub(noon) / time.Second)
		for _, later := range []time.Time{
			horizon.Add(-time.Nanosecond),
			in(time.Duration(rapid.IntRange(0, max(0, seconds-1)).Draw(t, "later")) * time.Second),
		} {
			seen.Now = later
			t.Logf("at %v, next is %v", later, first.Next)
			checkSame(t, first, decide(seen))
		}
	})
}

// Once the snapshot of a missed slot would have expired, without a floor the slot
// cannot be called overdue any more. Status changes at that time, not at the next slot.
//
// Contract: SLOT-12.
func TestOverdueIsCheckedAgain(t *testing.T) {
	runMap(t, map[string]mapCase{
		"when it can't be judged any more": {
			schedule:    every("6h").ttl("8h").deadline("30m").minReady(0),
			wantProblem: v1alpha1.ReasonSnapshotOverdue, wantNext: in(time.Hour),
		},
		"at the next slot with a floor": {
			schedule: every("6h").ttl("8h").deadline("30m"), wantProblem: v1alpha1.ReasonSnapshotOverdue, wantNext: in(5 * time.Hour),
		},
		"at the next slot without a TTL": {
			schedule: every("6h").deadline("30m"), wantProblem: v1alpha1.ReasonSnapshotOverdue, wantNext: in(5 * time.Hour),
		},
	})
}

func TestDecisionDoesNotDependOnOrderOfCache(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tc := drawMapCase(t)
		decide, seen := tc.decider(t), tc.observe()
		first := decide(seen)
		seen.Outputs = rapid.Permutation(seen.Outputs).Draw(t, "order")
		again := decide(seen)
		checkSame(t, first, again)
		if !first.Next.Equal(again.Next) {
			t.Fatalf("next is %v, then %v", first.Next, again.Next)
		}
	})
}
