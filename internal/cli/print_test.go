// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
)

func TestPrintStatus(t *testing.T) {
	s := newScenario()
	var all []scheduleStatus
	for _, schedule := range s.schedules() {
		all = append(all, statusOf(schedule, s.inv, s.now))
	}
	for name, test := range map[string]struct {
		output term.Output
		want   string
	}{
		"a section for each schedule": {term.Output{}, `
shop/broken: at "0 0 30 2 *" UTC of PVCs with app=cache
  Invalid spec: spec.schedule: schedule "0 0 30 2 *": there is no such day, so it never fires; write for example "30 2 * * *" (minute, hour, day of month, month, day of week) or @daily. Nothing is created and nothing is deleted.
  No status yet: the operator has not seen this schedule. Is it running?

shop/paused: at "30 2 * * *" UTC of PVCs with app=web, suspended
  Not protected: 1 of 1 PVC; e.g. web-0: paused: it is suspended
  No status yet: the operator has not seen this schedule. Is it running?
PVC     NEWEST READY   NEXT     SNAPSHOTS   PROBLEM
web-0   <none>         <none>   0           <none>

shop/tiers: every 6h of PVCs with app=db, last: 2, daily: 7, weekly: 3
  Not protected: 1 of 3 PVCs; e.g. db-1: no ready snapshot for a whole slot of tiers
  Not ready (SnapshotsFailing): 1 of 4 PersistentVolumeClaims failing; first db-1: CreateFailed: denied by quota
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
			golden(t, func(b *bytes.Buffer) error { return printStatus(b, &test.output, all, s.now) }, test.want)
		})
	}
}

func TestPrintCoverage(t *testing.T) {
	s := newScenario()
	for name, test := range map[string]struct {
		output     term.Output
		namespaces bool
		want       string
	}{
		"a table with its gaps": {term.Output{}, false, `
PVC       PROTECTION    SCHEDULES   RECOVERY POINT   REASON
db-0      Protected     tiers       20m              <none>
db-1      Stale         tiers       30h              no ready snapshot for a whole slot of tiers
db-2      Skipped       tiers       <none>           not Bound
web-0     Unprotected   paused      <none>           paused: it is suspended
cache-0   Unprotected   broken      <none>           broken: its spec is invalid
scratch   Unprotected   <none>      <none>           no schedule selects it

1 snapshot of schedule shop/old, which does not exist: nothing deletes them.
4 of 6 PVCs not protected: 1 protected, 1 stale, 3 unprotected, 1 skipped.
`},
		"all namespaces": {term.Output{NoHeaders: true}, true, `
shop   db-0      Protected     tiers    20m      <none>
shop   db-1      Stale         tiers    30h      no ready snapshot for a whole slot of tiers
shop   db-2      Skipped       tiers    <none>   not Bound
shop   web-0     Unprotected   paused   <none>   paused: it is suspended
shop   cache-0   Unprotected   broken   <none>   broken: its spec is invalid
shop   scratch   Unprotected   <none>   <none>   no schedule selects it
`},
		"names of the gaps": {term.Output{Format: term.Names}, false, `
persistentvolumeclaim/db-1
persistentvolumeclaim/web-0
persistentvolumeclaim/cache-0
persistentvolumeclaim/scratch
`},
	} {
		t.Run(name, func(t *testing.T) {
			c := coverageOf(s.schedules(), s.inv, s.now)
			golden(t, func(b *bytes.Buffer) error { return printCoverage(b, &test.output, c, false, test.namespaces, s.now) }, test.want)
		})
	}
}

func TestDrawTimeline(t *testing.T) {
	s := newScenario()
	for name, test := range map[string]struct {
		width int
		style term.Style
		want  string
	}{
		"80 columns": {80, term.Style{}, `
shop/tiers: every 6h of PVCs with app=db, last: 2, daily: 7, weekly: 3

PVC           2w      1w    4d     2d     1d   12h  6h     now        NEXT COUNT
db-0         H·····-------d-d--d---d-·--·d·-·-··-····l······l·  5h40m, 11h    41
db-1         ····························l······x···········○·  5h40m, 11h     3
db-2         ·················································           -     0
db-9 (gone)  ·······················l·························           -     1

- to be deleted  l last  d daily  ○ not ready  H held  x failed
`},
		"120 columns": {120, term.Style{}, `
shop/tiers: every 6h of PVCs with app=db, last: 2, daily: 7, weekly: 3

PVC                           2w                                 1w             4d        2d   1d  now        NEXT COUNT
db-0         H······································---·----·---·----·----·d---·d---·d---·d---·d---·ll  5h40m, 11h    41
db-1         ··················································································l··x··○  5h40m, 11h     3
db-2         ·························································································           -     0
db-9 (gone)  ··············································································l··········           -     1

- to be deleted  l last  d daily  ○ not ready  H held  x failed
`},
		"40 columns": {40, term.Style{}, `
shop/tiers: every 6h of PVCs with
  app=db, last: 2, daily: 7, weekly: 3

PVC            2d  now        NEXT COUNT
db-0        H-dddd-l·l  5h40m, 11h    41
db-1        ·····l·x·○  5h40m, 11h     3
db-2        ··········           -     0
db-9…gone)  ····l·····           -     1

- to be deleted  l last  d daily
○ not ready  H held  x failed
`},
	} {
		t.Run(name, func(t *testing.T) {
			line, err := timelineOf(s.tiers, s.inv, "", s.now)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, func(b *bytes.Buffer) error { line.draw(b, test.style, test.width, s.now); return nil }, test.want)
		})
	}
}

// The column and the marks of drills are there once there is a drill.
//
// Contract: VER-4, VER-5.
func TestPrintDrills(t *testing.T) {
	s := newScenario()
	s.tiers.Spec.Retention.MinVerified = 1
	of := func(claim string, slots int) *snapshotv1.VolumeSnapshot {
		for _, o := range s.inv.snapshots["shop"] {
			if at := s.now.Truncate(6 * time.Hour).Add(-time.Duration(slots) * 6 * time.Hour); o.GetName() == claim+"-"+at.Format("20060102150405") {
				return o.(*snapshotv1.VolumeSnapshot)
			}
		}
		t.Fatalf("no snapshot of %s", claim)
		return nil
	}
	ago := func(d time.Duration) string { return term.Timestamp(s.now.Add(-d)) }
	of("db-0", 37).Annotations[v1alpha1.AnnotationVerifiedAt] = ago(5 * term.Day)
	of("db-0", 1).Annotations[v1alpha1.AnnotationVerifyFailed] = ago(time.Hour) + " checksum \x1b[2Jdiffers"
	of("db-1", 5).Annotations[v1alpha1.AnnotationVerifyFailed] = ago(time.Hour) + " empty"
	golden(t, func(b *bytes.Buffer) error {
		return printStatus(b, &term.Output{}, []scheduleStatus{statusOf(s.tiers, s.inv, s.now)}, s.now)
	}, `
shop/tiers: every 6h of PVCs with app=db, last: 2, daily: 7, weekly: 3, at least 1 verified
  Not protected: 1 of 3 PVCs; e.g. db-1: no ready snapshot for a whole slot of tiers
  Not ready (SnapshotsFailing): 1 of 4 PersistentVolumeClaims failing; first db-1: CreateFailed: denied by quota
PVC           NEWEST READY   VERIFIED   NEXT     SNAPSHOTS   PROBLEM
db-0          20m            5d         5h40m    41          VerificationFailed: the last drill failed, of VolumeSnapshot db-0-20260130180000: checksum \u001b[2Jdiffers
db-1          30h            <none>     5h40m    3           SnapshotError: VolumeSnapshot db-1-20260130120000: limit of 3 reached; VerificationFailed: the last drill failed, of VolumeSnapshot db-1-20260129180000: empty; CreateFailed: denied by quota
db-2          <none>         <none>     <none>   0           skipped: not Bound
db-9 (gone)   2d             <none>     <none>   1           <none>
`)
	golden(t, func(b *bytes.Buffer) error {
		return printCoverage(b, &term.Output{NoHeaders: true}, coverageOf(s.schedules(), s.inv, s.now), false, false, s.now)
	}, `
db-0      Protected     tiers    20m      5d, then failed   <none>
db-1      Stale         tiers    30h      failed            no ready snapshot for a whole slot of tiers
db-2      Skipped       tiers    <none>   <none>            not Bound
web-0     Unprotected   paused   <none>   <none>            paused: it is suspended
cache-0   Unprotected   broken   <none>   <none>            broken: its spec is invalid
scratch   Unprotected   <none>   <none>   <none>            no schedule selects it
`)
	line, err := timelineOf(s.tiers, s.inv, "", s.now)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, func(b *bytes.Buffer) error { line.draw(b, term.Style{}, 80, s.now); return nil }, `
shop/tiers: every 6h of PVCs with app=db, last: 2, daily: 7, weekly: 3, at least
  1 verified

PVC           2w      1w    4d     2d     1d   12h  6h     now        NEXT COUNT
db-0         H·····-v-----d-d--d---d-·--·d·-·-··-····!······l·  5h40m, 11h    41
db-1         ····························!······x···········○·  5h40m, 11h     3
db-2         ·················································           -     0
db-9 (gone)  ·······················l·························           -     1

- to be deleted  v verified  l last  d daily  ! drill failed  ○ not ready
H held  x failed
`)
}
