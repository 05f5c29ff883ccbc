// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package campaign

import (
	"errors"
	"strings"
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/history"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/oracle"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/plan"
)

func some(class plan.Class, id string) plan.Plan {
	return plan.Plan{ID: string(class) + ":first:" + id, Class: class, Workload: "first"}
}

func TestMissedPlansCountNeitherAsRunNorAsPassed(t *testing.T) {
	r := newReport(Options{Seed: 7})
	r.add(result{Plan: some(plan.Crash, "a"), Took: time.Second})
	r.add(result{Plan: some(plan.Crash, "b"), Took: time.Second, Missed: []plan.Fault{{Action: plan.CrashAfter}}})
	r.add(result{Plan: some(plan.Crash, "c"), Violations: []oracle.Violation{{Oracle: "S5", Message: "no preconditions"}}})
	r.add(result{Plan: some(plan.Clock, "d"), Err: errors.New("no cluster")})
	r.finish()
	crash := r.row(plan.Crash)
	if crash.Plans != 2 || crash.Passed != 1 || crash.Failed != 1 || crash.Missed != 1 {
		t.Errorf("%+v", crash)
	}
	if r.Failed != 2 || r.Missed != 1 || r.Done != 4 {
		t.Errorf("%+v", r)
	}
	if got := r.Failures[0]; got.Violations[0] != "S5: no preconditions" || got.Repeat != "make test-faults PLAN='crash:first:c'" {
		t.Errorf("%+v", got)
	}
	if r.Failures[1].Error != "no cluster" {
		t.Errorf("%+v", r.Failures[1])
	}
	if rows := r.Ran(); len(rows) != 2 {
		t.Errorf("classes without plans are included: %+v", rows)
	}
	table := r.Table()
	for _, want := range []string{"crash  2      1       1       1", "clock  1      0       1       0", "2 failed, 1 missed"} {
		if !strings.Contains(table, want) {
			t.Errorf("no %q in\n%s", want, table)
		}
	}
	page := r.Markdown(".")
	for _, want := range []string{"| crash | ", "`crash:first:c`", "S5: no preconditions", "**3 plans, 2 failed**"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in\n%s", want, page)
		}
	}
}

func TestWhatOnlyTheCacheAllowsIsReported(t *testing.T) {
	r := newReport(Options{})
	if table := r.Table(); strings.Contains(table, "cache") {
		t.Errorf("without simulations: %s", table)
	}
	r.add(result{Plan: some(Simulation, "1")})
	r.ByCache["S2"] = 3
	want := "In 1 simulations, only what the operator's cache held allowed 3 deletes (S2) and 0 creates (S4)."
	for _, text := range []string{r.Table(), r.Markdown(".")} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

func TestEveryClassHasADescriptionAndRunsInTheShortForm(t *testing.T) {
	for _, row := range newReport(Options{}).Rows {
		if methods[row.Class] == "" {
			t.Errorf("class %s has no description", row.Class)
		}
	}
	for _, class := range plan.Classes {
		if shortLimits[class] == 0 {
			t.Errorf("the short form leaves out class %s", class)
		}
	}
}

func TestDescribePrintsTheHistoryAndHowToRepeatThePlan(t *testing.T) {
	began := time.Unix(1000, 0)
	v := &snapshotv1.VolumeSnapshot{ObjectMeta: metav1.ObjectMeta{Name: "real"}}
	h := &history.History{
		Began:    began,
		Requests: []history.Request{{At: began.Add(time.Second), Verb: "delete", Resource: "volumesnapshots", Name: "real", Reached: true, Code: 200}},
		Changes:  []history.Change{{At: began.Add(2 * time.Second), Before: v, Revision: 9, Request: 0}},
		Windows:  []history.Window{{Kind: history.Skewed, From: began, Until: began.Add(3 * time.Second)}},
	}
	c := &Campaign{Options: Options{Seed: 3}}
	text := c.describe(result{
		Plan: some(plan.Crash, "x"), history: h, nicknames: map[string]string{"real": "nick"}, log: "the log",
		Violations: []oracle.Violation{{Oracle: "S2", Message: "too early"}},
	})
	for _, want := range []string{
		"FAILED crash:first:x", "S2 violated: too early", "make test-faults PLAN='crash:first:x'",
		"#0 p0 delete volumesnapshots nick → 200, not delivered", "== VolumeSnapshot nick deleted by #0 (rv 9)", "-- skewed ends", "the log",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

func TestCoverCountsWhatTheOperatorDid(t *testing.T) {
	v := &snapshotv1.VolumeSnapshot{}
	gone := v.DeepCopy()
	gone.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	covered := map[string]int{}
	cover(covered, &history.History{
		Requests: []history.Request{{Verb: "get", Namespace: "x", Seen: 200, Reached: true}, {Seen: 500, Process: 1}},
		Changes: []history.Change{
			{After: v, Request: 0}, {Before: v, After: gone, Request: 0}, {Before: v, Request: 0}, {Before: v, After: v, Request: 0},
			{Before: v, Request: -1},
		},
		Windows: []history.Window{{Kind: history.Idle}},
	})
	for what, want := range map[string]int{
		CoversCreates: 1, CoversDeletes: 2, CoversPatches: 1, CoversReads: 1, CoversRefused: 1, CoversCrashes: 1, CoversIdle: 1, CoversSkewed: 0,
	} {
		if covered[what] != want {
			t.Errorf("%s: %d, want %d", what, covered[what], want)
		}
	}
}

func TestRepeatCommand(t *testing.T) {
	for want, p := range map[string]plan.Plan{
		"go run ./test/faults --workload first --class idle":   {ID: "reference:first:0", Class: referenceClass, Workload: "first"},
		"make test-faults PLAN='two-faults:first:x' SEED=7":    some(plan.TwoFaults, "x"),
		"make test-faults PLAN='watches:first:added.x.1:late'": some(plan.Watches, "added.x.1:late"),
	} {
		if got := repeatCommand(p, 7); got != want {
			t.Errorf("%s is repeated by %s", p.ID, got)
		}
	}
}

func TestSimulateAllowsNone(t *testing.T) {
	report := newReport(Options{})
	if err := New(nil, Options{}).simulate(t.Context(), nil, 0, report); err != nil || report.Done > 0 {
		t.Errorf("%d plans, error %v", report.Done, err)
	}
}
