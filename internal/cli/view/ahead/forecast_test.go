// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package ahead

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/clitest"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// drawRegular draws a series that an operator may have left: snapshots that were
// taken at slots, some of them missed.
func drawRegular(t *rapid.T, s *v1alpha1.SnapshotSchedule, now time.Time) *view.Series {
	claim := clitest.Claim("data", map[string]string{"app": "db"})
	if rapid.IntRange(0, 3).Draw(t, "requested") == 0 {
		at := now.Add(time.Duration(rapid.IntRange(-3, 30*24*60).Draw(t, "requested at")) * time.Minute)
		s.Annotations = map[string]string{v1alpha1.AnnotationRequestedAt: at.Format(time.RFC3339)}
	}
	found := &view.Series{MapKey: string(claim.UID), Claim: claim}
	slot := now.Truncate(time.Hour)
	for range rapid.IntRange(0, 20).Draw(t, "snapshots") {
		v := clitest.Snapshot(s, claim, slot)
		v.CreationTimestamp.Time = slot.Add(time.Duration(rapid.IntRange(0, 20).Draw(t, "late")) * time.Second)
		v.Status = view.ReadyStatus(v.CreationTimestamp)
		if rapid.IntRange(0, 9).Draw(t, "hold") == 0 {
			v.Annotations[v1alpha1.AnnotationHold] = ""
		}
		found.Snapshots = append(found.Snapshots, v)
		slot = slot.Add(-time.Duration(rapid.SampledFrom([]int{1, 1, 1, 6, 24, 24 * 7}).Draw(t, "back")) * time.Hour)
	}
	return found
}

// checkAhead compares preview, which goes on with retention alone, with a simulation by the operator's decisions.
func checkAhead(t rapid.TB, s *v1alpha1.SnapshotSchedule, found *view.Series, now, until time.Time) {
	t.Helper()
	judge, err := snapshots.NewJudge(term.Scheme, s, clitest.AnyClass)
	if err != nil {
		t.Fatal(err)
	}
	existing, want, have := map[string]bool{}, map[string]string{}, map[string]string{}
	for _, o := range found.Snapshots {
		existing[o.GetName()] = true
	}
	for sim, more := Simulate(judge, now, found), true; more && !sim.Now.After(until); {
		var at time.Time
		var d snapshots.Judgment
		at, d, more = sim.Step()
		for _, removal := range d.Delete {
			if existing[removal.Object.GetName()] {
				want[removal.Object.GetName()] = fmt.Sprint(at.UTC(), removal.Reason)
			}
		}
	}
	f := ForecastOf(judge, found, now, until, 0)
	for name, end := range f.Ends {
		have[name] = fmt.Sprint(end.At.UTC(), end.reason)
	}
	if diff := cmp.Diff(want, have); diff != "" || f.Incomplete {
		t.Errorf("snapshots deleted (-simulated +preview), incomplete %v:\n%s", f.Incomplete, diff)
	}
}

func TestPreviewEndsAsTheSimulationOfAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := clitest.Start.AddDate(0, 3, 0).Add(time.Duration(rapid.IntRange(0, 30*24*60).Draw(t, "now"))*time.Minute + 17*time.Second)
		s := clitest.Schedule("nightly", clitest.DrawSpec(t))
		if rapid.Bool().Draw(t, "room") {
			s.Spec.Retention.MaxCount = ptr.To(rapid.Int32Range(8, 40).Draw(t, "more than 5"))
		}
		checkAhead(t, s, drawRegular(t, s, now), now, now.AddDate(0, 0, 8))
	})
}

// While deletes wait, the series is not regular: what is deleted at their end depends on
// every slot until then.
//
// Contract: EDIT-1, EDIT-4.
func TestPreviewEndsAsTheSimulationWhileDeletesWait(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := clitest.Start.AddDate(0, 3, 0).Add(time.Duration(rapid.IntRange(0, 24*60).Draw(t, "now"))*time.Minute + 17*time.Second)
		s := clitest.Schedule("nightly", clitest.DrawSpec(t))
		if rapid.Bool().Draw(t, "name used again") {
			s.CreationTimestamp = metav1.NewTime(now)
		} else {
			delay := rapid.SampledFrom([]v1alpha1.Duration{"5h", "2d", "4d"}).Draw(t, "delay")
			s.Generation, s.Spec.Retention.EditDelay = 2, delay
			s.Status.Retention = &v1alpha1.RetentionRecord{Generation: 2, SinceTime: metav1.NewTime(now), EditDelay: delay}
		}
		checkAhead(t, s, drawRegular(t, s, now), now, now.AddDate(0, 0, 8))
	})
}

// Uneven slots: the tiers keep more snapshots at some of them than at others, and
// maxCount deletes an old one that it would have room for at a later slot.
func TestPreviewEndsAsTheSimulationWithMaxCountAndTiers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		few := rapid.Int32Range(0, 5)
		line := rapid.SampledFrom([]v1alpha1.CronLine{"0 0-3,12 * * *", "0 1-6 * * *", "*/20 8,20 * * *"}).Draw(t, "line")
		spec := v1alpha1.SnapshotScheduleSpec{Schedule: line}
		spec.Retention = v1alpha1.Retention{
			MaxCount: ptr.To(rapid.Int32Range(3, 9).Draw(t, "maxCount")),
			Keep:     v1alpha1.Keep{Last: few.Draw(t, "last"), Hourly: few.Draw(t, "hourly"), Daily: few.Draw(t, "daily"), Yearly: 4},
		}
		s, claim := clitest.Schedule("nightly", spec), clitest.Claim("data", nil)
		found := &view.Series{MapKey: string(claim.UID), Claim: claim}
		for year := range rapid.IntRange(1, 3).Draw(t, "years") {
			found.Snapshots = append(found.Snapshots, clitest.Snapshot(s, claim, clitest.Start.AddDate(-year-1, 0, 0)))
		}
		now := clitest.Start.AddDate(0, 0, 1).Add(time.Duration(rapid.IntRange(0, 24).Draw(t, "hour"))*time.Hour + 17*time.Second)
		checkAhead(t, s, found, now, now.AddDate(0, 0, 4))
	})
}
