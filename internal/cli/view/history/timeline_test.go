// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/clitest"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
)

// Contract: EDIT-1.
func TestTimelineShowsWhatADelayKeeps(t *testing.T) {
	s := clitest.NewScenario()
	_, stricter := clitest.Delayed(s)
	line, err := TimelineOf(stricter, s.Inv, "db-0", s.Now)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range line.Rows[0].Snapshots {
		want := m.verdict.String()
		if m.verdict.Delete() {
			want = v1alpha1.ReasonSpecChanged
		}
		if m.Verdict != want {
			t.Errorf("%s: %s, want %s", m.Name, m.Verdict, want)
		}
	}
	clitest.Golden(t, func(b *bytes.Buffer) error { line.Draw(b, term.Style{}, 80, s.Now); return nil }, `
shop/tiers: every 6h, PVCs with app=db, last: 2

PVC     2w       1w    4d       2d     1d    12h   6h   2h now        NEXT COUNT
db-0  H······~~~~~~~~~~~~~~~~~~~·~~·~·~·~··~···~····l·······l·  5h40m, 12h    41

~ to be deleted after a delay  l last  H held
`)
}

func TestAxis(t *testing.T) {
	for name, test := range map[string]struct {
		axis Axis
		want map[int]int // hours to column
	}{
		"evenly, if every snapshot has a place": {newAxis(25, 24*time.Hour, time.Hour), map[int]int{0: 24, 1: 23, 12: 12, 24: 0}},
		"closer with age, if not":               {newAxis(25, 1000*time.Hour, time.Hour), map[int]int{0: 24, 1: 22, 24: 13, 1000: 0, 2000: 0}},
	} {
		t.Run(name, func(t *testing.T) {
			var hours []int
			for hour := range test.want {
				hours = append(hours, hour)
			}
			slices.Sort(hours)
			for _, hour := range hours {
				if have := test.axis.Place(time.Duration(hour) * time.Hour); have != test.want[hour] {
					t.Errorf("%d hours are in column %d, want %d", hour, have, test.want[hour])
				}
			}
		})
	}
}

func TestDrawTimeline(t *testing.T) {
	s := clitest.NewScenario()
	for name, test := range map[string]struct {
		width int
		style term.Style
		want  string
	}{
		"80 columns": {80, term.Style{}, `
shop/tiers: every 6h, PVCs with app=db, last: 2, daily: 7, weekly: 3

PVC           2w      1w    4d     2d     1d   12h  6h     now        NEXT COUNT
db-0         H·····-------d-d--d---d-·--·d·-·-··-····l······l·  5h40m, 12h    41
db-1         ····························l······x···········○·  5h40m, 12h     3
db-2         ·················································           -     0
db-9 (gone)  ·······················l·························           -     1

- to be deleted  l last  d daily  ○ not ready  H held  x failed
`},
		"120 columns": {120, term.Style{}, `
shop/tiers: every 6h, PVCs with app=db, last: 2, daily: 7, weekly: 3

PVC          17d              2w                                 1w             4d        2d   1d  now        NEXT COUNT
db-0         H······································---·----·---·----·----·d---·d---·d---·d---·d---·ll  5h40m, 12h    41
db-1         ··················································································l··x··○  5h40m, 12h     3
db-2         ·························································································           -     0
db-9 (gone)  ··············································································l··········           -     1

- to be deleted  l last  d daily  ○ not ready  H held  x failed
`},
		"40 columns": {40, term.Style{}, `
shop/tiers: every 6h, PVCs with app=db,
  last: 2, daily: 7, weekly: 3

PVC            2d  now        NEXT COUNT
db-0        H-dddd-l·l  5h40m, 12h    41
db-1        ·····l·x·○  5h40m, 12h     3
db-2        ··········           -     0
db-9…gone)  ····l·····           -     1

- to be deleted  l last  d daily
○ not ready  H held  x failed
`},
	} {
		t.Run(name, func(t *testing.T) {
			line, err := TimelineOf(s.Tiers, s.Inv, "", s.Now)
			if err != nil {
				t.Fatal(err)
			}
			clitest.Golden(t, func(b *bytes.Buffer) error { line.Draw(b, test.style, test.width, s.Now); return nil }, test.want)
		})
	}
}

// The column and the marks of drills are there once there is a drill.
//
// Contract: VER-4, VER-5.
func TestDrawDrills(t *testing.T) {
	s := clitest.NewDrilled(t)
	line, err := TimelineOf(s.Tiers, s.Inv, "", s.Now)
	if err != nil {
		t.Fatal(err)
	}
	clitest.Golden(t, func(b *bytes.Buffer) error { line.Draw(b, term.Style{}, 80, s.Now); return nil }, `
shop/tiers: every 6h, PVCs with app=db, last: 2, daily: 7, weekly: 3, at least 1
  verified

PVC           2w      1w    4d     2d     1d   12h  6h     now        NEXT COUNT
db-0         H·····-v-----d-d--d---d-·--·d·-·-··-····!······l·  5h40m, 12h    41
db-1         ····························!······x···········○·  5h40m, 12h     3
db-2         ·················································           -     0
db-9 (gone)  ·······················l·························           -     1

- to be deleted  v verified  l last  d daily  ! drill failed  ○ not ready
H held  x failed
`)
}

// Of a PVC without the label of its group no snapshot is ever taken.
func TestTimelineOfAPVCWithoutAGroupHasNoNextSlot(t *testing.T) {
	s := clitest.Schedule("groups", v1alpha1.SnapshotScheduleSpec{Group: &v1alpha1.Group{ByLabel: "db"}, SnapshotInterval: "24h"})
	lone, member := clitest.Claim("lone", nil), clitest.Claim("member", map[string]string{"db": "one"})
	inv := &view.Inventory{Claims: map[string][]client.Object{"shop": {lone, member}}}
	line, err := TimelineOf(s, inv, "", clitest.Start.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range line.Rows {
		if got, want := len(row.Next) > 0, row.Claim == "member"; got != want {
			t.Errorf("PVC %s has next slots %v", row.Claim, row.Next)
		}
	}
	if len(line.Rows) != 2 {
		t.Errorf("%d rows", len(line.Rows))
	}
}
