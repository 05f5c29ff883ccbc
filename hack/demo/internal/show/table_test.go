// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package show

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/hack/demo/internal/check"
	"mapcontroller.dev/snapshotschedule/hack/demo/internal/record"
)

var (
	anchor = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	terms  = check.Terms{
		Interval: 5 * time.Second, TTL: 20 * time.Second, ScheduleCreated: anchor, Selected: []string{"db", "mail", "new"},
	}
)

func world() record.World {
	now := anchor.Add(12300 * time.Millisecond)
	taken := func(claim string, slot int, change func(*record.Snapshot)) record.Snapshot {
		at := anchor.Add(time.Duration(slot) * 5 * time.Second)
		s := record.Snapshot{Claim: claim, Slot: at, Created: at, Ready: true}
		change(&s)
		return s
	}
	asIs := func(*record.Snapshot) {}
	return record.World{
		Now: now, Schedule: &v1alpha1.SnapshotSchedule{},
		Claims: []record.Claim{
			{Name: "db", Bound: true},
			{Name: "mail", Gone: now},
			{Name: "new", Created: anchor.Add(10 * time.Second)},
			{Name: "scratch", Bound: true},
		},
		Snapshots: []record.Snapshot{
			taken("db", 0, func(s *record.Snapshot) { s.Deleted = now }),
			taken("db", 1, asIs),
			taken("db", 2, func(s *record.Snapshot) { s.Ready = false }),
			taken("mail", 0, func(s *record.Snapshot) { s.Deleted, s.Gone = now, now }),
			taken("mail", 1, asIs),
		},
	}
}

func TestTable(t *testing.T) {
	want := `
PVC       SNAPSHOTS   READY   NEWEST    NEXT    STATE
db        3           1       2s old    in 2s   bound                         ×●○
mail      1           1       7s old    -       deleted, snapshots detached   ●
new       0           0       -         in 2s   pending
scratch   0           0       -         -       bound, not selected
5 taken, 1 gone;  ● ready  ○ new  × going`
	if got := "\n" + strings.Join(Table(world(), terms, false), "\n"); got != want {
		t.Errorf("got:%s\nwant:%s", got, want)
	}
}

func TestTableAfterTheSchedule(t *testing.T) {
	w := world()
	w.Schedule, w.Snapshots = nil, nil
	for _, line := range Table(w, terms, false) {
		if strings.Contains(line, " in ") {
			t.Errorf("no schedule, no next snapshot: %s", line)
		}
		if strings.HasPrefix(line, "mail") && !strings.HasSuffix(line, "deleted") {
			t.Errorf("without snapshots it is just deleted: %s", line)
		}
	}
}

func TestColoursTakeNoRoom(t *testing.T) {
	plain, coloured := Table(world(), terms, false), Table(world(), terms, true)
	for i, line := range coloured {
		for _, code := range []string{"\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[32m", "\x1b[33m"} {
			line = strings.ReplaceAll(line, code, "")
		}
		if line != plain[i] {
			t.Errorf("%q is not %q", line, plain[i])
		}
		if n := utf8.RuneCountInString(line); n > 90 {
			t.Errorf("a line is %d wide", n)
		}
	}
}
