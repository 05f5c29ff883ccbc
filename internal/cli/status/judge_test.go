// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/clitest"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
	"mapcontroller.dev/snapshotschedule/internal/cli/view/ahead"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

func TestSimulationLivesAsUnderTheOperator(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, found, now := clitest.DrawCase(t)
		until := now.Add(3 * term.Day)
		judge, err := snapshots.NewJudge(term.Scheme, s, clitest.AnyClass)
		if err != nil {
			t.Fatal(err)
		}
		ends, taken := clitest.NewOperator(t, s).Simulate(found, now, until)

		var created []string
		deleted := map[string]time.Time{}
		for sim, more := ahead.Simulate(judge, now, found), true; more && !sim.Now.After(until); {
			var at time.Time
			var d snapshots.Judgment
			at, d, more = sim.Step()
			created = append(created, clitest.Names(d.Create)...)
			for _, removal := range d.Delete {
				deleted[removal.Object.GetName()] = at
			}
		}
		if diff := cmp.Diff(taken, created); diff != "" {
			t.Errorf("snapshots taken (-operator +plugin):\n%s", diff)
		}
		if diff := cmp.Diff(ends, deleted); diff != "" {
			t.Errorf("snapshots deleted (-operator +plugin):\n%s", diff)
		}
		predicted := ahead.ForecastOf(judge, found, now, until, 0).Ends
		for _, o := range found.Snapshots {
			checkWhy(t, s, judge, found, o, now, until, ends)
			if end, want := predicted[o.GetName()].At, ends[o.GetName()]; !end.Equal(want) {
				t.Errorf("preview deletes %s at %v, the operator at %v", o.GetName(), end, want)
			}
		}
	})
}

// checkWhy compares the verdicts that why predicts with the life of a snapshot.
func checkWhy(
	t *rapid.T, s *v1alpha1.SnapshotSchedule, judge *snapshots.Judge, of *view.Series, o client.Object, now, until time.Time, ends map[string]time.Time,
) {
	r := &whyResult{Name: o.GetName()}
	r.judge(judge, of, now, until, s.Spec.Retention.MaxCount == nil)
	end, ended := ends[o.GetName()]
	predicted := ""
	if n := len(r.Verdicts); n > 0 && r.Verdicts[n-1].Delete && !r.Verdicts[n-1].Time.After(until) {
		predicted = term.Timestamp(r.Verdicts[n-1].Time.Time)
	}
	want := ""
	if ended {
		want = term.Timestamp(end)
	}
	if predicted != want {
		t.Errorf("why %s predicts deletion at %q, it is deleted at %q: %s", o.GetName(), predicted, want, fmt.Sprint(r.Verdicts))
	}
}
