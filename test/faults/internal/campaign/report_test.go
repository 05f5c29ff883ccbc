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

func TestMissedPlansAreNeitherPassedNorCounted(t *testing.T) {
	r := newReport(Options{Seed: 7})
	r.add(result{Plan: some(plan.Crash, "a"), Took: time.Second})
	r.add(result{Plan: some(plan.Crash, "b"), Took: time.Second, Missed: []plan.Fault{{Do: plan.CrashAfter}}})
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
	if got := r.Failures[0]; got.Violations[0] != "S5: no preconditions" || got.Again != "make test-faults PLAN='crash:first:c' SEED=7" {
		t.Errorf("%+v", got)
	}
	if r.Failures[1].Error != "no cluster" {
		t.Errorf("%+v", r.Failures[1])
	}
	if len(r.Rows) != 2 {
		t.Errorf("rows without a plan are left: %+v", r.Rows)
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

func TestEveryClassIsExplained(t *testing.T) {
	for _, class := range plan.Classes {
		if methods[string(class)] == "" {
			t.Errorf("nothing says what is done in class %s", class)
		}
		if shortLimits[class] == 0 {
			t.Errorf("the short form leaves out class %s", class)
		}
	}
}

func TestDescribeTellsWhatHappenedAndHowToRepeatIt(t *testing.T) {
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
		"FAILED crash:first:x", "S2 violated: too early", "make test-faults PLAN='crash:first:x' SEED=3",
		"#0 p0 delete volumesnapshots nick → 200, not told", "== VolumeSnapshot nick gone by #0 (rv 9)", "-- skewed ends", "the log",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if again := again(plan.Plan{Class: "reference", Workload: "first"}, 1); !strings.Contains(again, "--workload first") {
		t.Error(again)
	}
}

func TestCountSeesWhatTheOperatorDid(t *testing.T) {
	v := &snapshotv1.VolumeSnapshot{}
	gone := v.DeepCopy()
	gone.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	seen := map[string]int{}
	count(seen, &history.History{
		Requests: []history.Request{{Verb: "get", Namespace: "x", Seen: 200, Reached: true}, {Seen: 500, Process: 1}},
		Changes: []history.Change{
			{After: v, Request: 0}, {Before: v, After: gone, Request: 0}, {Before: v, Request: 0}, {Before: v, After: v, Request: 0},
			{Before: v, Request: -1},
		},
		Windows: []history.Window{{Kind: history.Idle}},
	})
	for what, want := range map[string]int{
		SeenCreates: 1, SeenDeletes: 2, SeenPatches: 1, SeenReads: 1, SeenRefused: 1, SeenCrashes: 1, SeenIdle: 1, SeenSkewed: 0,
	} {
		if seen[what] != want {
			t.Errorf("%s: %d, not %d", what, seen[what], want)
		}
	}
}

// The report is written again and again, and what others wrote stays.
func TestRewriteLeavesWhatFollows(t *testing.T) {
	r := newReport(Options{})
	page := r.Rewrite("", ".") + "## Ours\n"
	if again := r.Rewrite(page, "."); again != page {
		t.Errorf("written again, it is\n%s\nand was\n%s", again, page)
	}
}

// Lives may be left out, as for a change that no decision depends on.
func TestNoLives(t *testing.T) {
	results, err := (&Campaign{}).lives(t.Context(), nil, 0)
	if err != nil || len(results) > 0 {
		t.Errorf("%d results, error %v", len(results), err)
	}
}
