// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package list

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/clitest"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
	"mapcontroller.dev/snapshotschedule/internal/cli/view/ahead"
)

func TestMain(m *testing.M) { clitest.Main(m) }

func TestTable(t *testing.T) {
	s := clitest.NewScenario()
	rows := rowsOf(s.Inv, s.Schedules(), s.Now, work)
	clitest.Golden(t, func(b *bytes.Buffer) error {
		return (&term.Output{}).PrintTable(b, (&options{}).table(rows[:12], s.Now))
	}, `
NAME                  PVC    AGE     STATE        SCHEDULE   RULE             UNTIL
db-0-20260131000000   db-0   20m     Ready        tiers      KeptLast         12h
db-1-20260131000000   db-1   20m     InProgress   tiers      HeldInProgress   12h
db-0-20260130180000   db-0   6h20m   Ready        tiers      KeptLast         6d
db-0-20260130120000   db-0   12h     Ready        tiers      NotSelected      now
db-1-20260130120000   db-1   12h     Failed       tiers      Unready          6d
db-0-20260130060000   db-0   18h     Ready        tiers      NotSelected      now
db-0-20260130000000   db-0   24h     Ready        tiers      NotSelected      now
db-0-20260129180000   db-0   30h     Ready        tiers      KeptDaily        5d
db-1-20260129180000   db-1   30h     Ready        tiers      KeptLast         6d
db-0-20260129120000   db-0   36h     Ready        tiers      NotSelected      now
db-0-20260129060000   db-0   42h     Ready        tiers      NotSelected      now
db-0-20260129000000   db-0   2d      Ready        tiers      NotSelected      now
`)
	held := slices.DeleteFunc(rows, func(r row) bool { return r.Hold == "" })
	clitest.Golden(t, func(b *bytes.Buffer) error {
		return (&term.Output{}).PrintTable(b, (&options{}).table(held, s.Now))
	}, `
NAME                  PVC    AGE   STATE   SCHEDULE   RULE               UNTIL    NOTE
db-0-20260113120000   db-0   18d   Ready   tiers      HeldByAnnotation   <none>   held: audit
`)
}

// When a snapshot is deleted, as list says, is when the operator deletes it; and what it says of no more work is less, and not wrong.
func TestUntilIsWhenItIsDeleted(t *testing.T) {
	s := clitest.NewScenario()
	whole, less := rowsOf(s.Inv, s.Schedules(), s.Now, 1000*ahead.MaxWork), rowsOf(s.Inv, s.Schedules(), s.Now, 2_000)
	ends, unfinished := 0, 0
	for i, r := range whole {
		if r.AtLeast != nil {
			t.Errorf("%s: %+v", r.Name, r)
		}
		switch l := less[i]; {
		case l.Name != r.Name:
			t.Fatalf("%s is in place of %s", l.Name, r.Name)
		case l.Until != nil:
			if ends++; r.Until == nil || !l.Until.Equal(r.Until) {
				t.Errorf("%s until %v, want %v", l.Name, l.Until, r.Until)
			}
		case l.AtLeast != nil:
			if unfinished++; r.Until != nil && r.Until.Before(l.AtLeast) {
				t.Errorf("%s at least until %v, want %v", l.Name, l.AtLeast, r.Until)
			}
		case r.Until != nil:
			t.Errorf("%s forever, want %v", l.Name, r.Until)
		}
	}
	if ends == 0 || unfinished == 0 {
		t.Errorf("%d ends and %d that are not computed", ends, unfinished)
	}
}

// 10,000 snapshots take a second at most.
func BenchmarkRows(b *testing.B) {
	now := clitest.Start.AddDate(0, 0, 30)
	s := clitest.Schedule("nightly", v1alpha1.SnapshotScheduleSpec{
		SnapshotInterval: "6h", SnapshotTTL: "10d", Retention: v1alpha1.Retention{Keep: v1alpha1.Keep{Daily: 7, Monthly: 12, Yearly: 3}},
	})
	inv := &view.Inventory{Claims: map[string][]client.Object{}, Snapshots: map[string][]client.Object{}}
	for i := range 250 {
		c := clitest.Claim(fmt.Sprintf("data-%d", i), nil)
		inv.Claims["shop"] = append(inv.Claims["shop"], c)
		for slot := range 40 {
			inv.Snapshots["shop"] = append(inv.Snapshots["shop"], clitest.Snapshot(s, c, now.Add(-time.Duration(slot)*6*time.Hour)))
		}
	}
	for b.Loop() {
		if rows := rowsOf(inv, []*v1alpha1.SnapshotSchedule{s}, now, work); len(rows) != 10_000 {
			b.Fatal(len(rows))
		}
	}
}
