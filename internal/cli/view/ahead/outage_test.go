// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package ahead

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"mapcontroller.dev/snapshotschedule/internal/cli/clitest"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// What simulate says is what the operator does to a new PVC, also while the storage fails and after the PVC is deleted.
//
// Contract: CLI-45.
func TestOutagesAndDeletedPVCsAreAsUnderTheOperator(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := clitest.Start.Add(time.Duration(rapid.IntRange(0, 7*24*3600).Draw(t, "now")) * time.Second)
		s, claim := clitest.Schedule("nightly", clitest.DrawSpec(t)), clitest.Claim("data", nil)
		s.CreationTimestamp, claim.CreationTimestamp = metav1.NewTime(now), metav1.NewTime(now)
		s = snapshots.Recorded(s, now)
		until := now.Add(6 * term.Day)
		after := func(name string, most time.Duration) time.Duration {
			return time.Duration(rapid.IntRange(1, int(most/time.Second)).Draw(t, name)) * time.Second
		}
		var m clitest.Misfortune
		judge, err := snapshots.NewJudge(term.Scheme, s, clitest.AnyClass)
		if err != nil {
			t.Fatal(err)
		}
		of := &view.Series{MapKey: string(claim.UID), Claim: claim}
		sim := Simulate(judge, now, of)
		if rapid.Bool().Draw(t, "fails") {
			m.FailsFrom = now.Add(after("failsAfter", 4*term.Day))
			m.FailsUntil = m.FailsFrom.Add(after("failsFor", 3*term.Day))
			sim.Outage(m.FailsFrom, m.FailsUntil)
		}
		if rapid.Bool().Draw(t, "goes") {
			m.Gone = now.Add(after("gone", 5*term.Day))
			sim.Happens(m.Gone, func(of *view.Series) { of.Lose(claim.Name) })
		}
		ends, taken := clitest.NewOperator(t, s).SimulateWith(m, of, now, until)

		created, deleted := []string(nil), map[string]time.Time{}
		for more := true; more && !sim.Now.After(until); {
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
	})
}
