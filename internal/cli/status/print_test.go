// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"bytes"
	"testing"

	"mapcontroller.dev/snapshotschedule/internal/cli/clitest"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view/state"
)

func TestPrintStatus(t *testing.T) {
	s := clitest.NewScenario()
	var all []state.ScheduleStatus
	for _, schedule := range s.Schedules() {
		all = append(all, state.StatusOf(schedule, s.Inv, s.Now))
	}
	for name, test := range map[string]struct {
		output term.Output
		want   string
	}{
		"a section for each schedule": {term.Output{}, `
shop/broken: at "0 0 30 2 *" UTC, PVCs with app=cache
  Invalid spec: spec.schedule: schedule "0 0 30 2 *": there is no such day, so it never fires; write for example "30 2 * * *" (minute, hour, day of month, month, day of week) or @daily. Nothing is created and nothing is deleted.
  No status yet: the operator has not seen this schedule. Is it running?

shop/paused: at "30 2 * * *" UTC, PVCs with app=web, suspended
  Not protected: 1 of 1 PVC; e.g. web-0: paused: it is suspended
  No status yet: the operator has not seen this schedule. Is it running?
PVC     NEWEST READY   NEXT     SNAPSHOTS   PROBLEM
web-0   <none>         <none>   0           <none>

shop/tiers: every 6h, PVCs with app=db, last: 2, daily: 7, weekly: 3
  Not protected: 1 of 3 PVCs; e.g. db-1: no ready snapshot for a whole slot of tiers
  Not ready (SnapshotsFailing): 1 of 4 PersistentVolumeClaims failing: db-1: CreateFailed: denied by quota
PVC           NEWEST READY   NEXT     SNAPSHOTS   PROBLEM
db-0          20m            5h40m    41          <none>
db-1          30h            5h40m    3           SnapshotError: VolumeSnapshot db-1-20260130120000: limit of 3 reached; CreateFailed: denied by quota
db-2          <none>         <none>   0           skipped: not Bound
db-9 (gone)   2d             <none>   1           <none>
`},
		"rows only": {term.Output{NoHeaders: true}, `
shop   paused   web-0   <none>   <none>   0     <none>
shop   tiers   db-0          20m      5h40m    41    <none>
shop   tiers   db-1          30h      5h40m    3     SnapshotError: VolumeSnapshot db-1-20260130120000: limit of 3 reached; CreateFailed: denied by quota
shop   tiers   db-2          <none>   <none>   0     skipped: not Bound
shop   tiers   db-9 (gone)   2d       <none>   1     <none>
`},
		"names": {term.Output{Format: term.Names}, `
snapshotschedule.snapshots.mapcontroller.dev/broken
snapshotschedule.snapshots.mapcontroller.dev/paused
snapshotschedule.snapshots.mapcontroller.dev/tiers
`},
	} {
		t.Run(name, func(t *testing.T) {
			clitest.Golden(t, func(b *bytes.Buffer) error { return printStatus(b, &test.output, all, s.Now) }, test.want)
		})
	}
}

// The column and the marks of drills are there once there is a drill.
//
// Contract: VER-4, VER-5.
func TestPrintDrills(t *testing.T) {
	s := clitest.NewDrilled(t)
	clitest.Golden(t, func(b *bytes.Buffer) error {
		return printStatus(b, &term.Output{}, []state.ScheduleStatus{state.StatusOf(s.Tiers, s.Inv, s.Now)}, s.Now)
	}, `
shop/tiers: every 6h, PVCs with app=db, last: 2, daily: 7, weekly: 3, at least 1 verified
  Not protected: 1 of 3 PVCs; e.g. db-1: no ready snapshot for a whole slot of tiers
  Not ready (SnapshotsFailing): 1 of 4 PersistentVolumeClaims failing: db-1: CreateFailed: denied by quota
PVC           NEWEST READY   VERIFIED   NEXT     SNAPSHOTS   PROBLEM
db-0          20m            5d         5h40m    41          VerificationFailed: the last drill failed, of VolumeSnapshot db-0-20260130180000: checksum \u001b[2Jdiffers; those to try next: kubectl snapsched list -n 'shop' --pvc='db-0'
db-1          30h            <none>     5h40m    3           SnapshotError: VolumeSnapshot db-1-20260130120000: limit of 3 reached; VerificationFailed: the last drill failed, of VolumeSnapshot db-1-20260129180000: empty; those to try next: kubectl snapsched list -n 'shop' --pvc='db-1'; CreateFailed: denied by quota
db-2          <none>         <none>     <none>   0           skipped: not Bound
db-9 (gone)   2d             <none>     <none>   1           <none>
`)
}
