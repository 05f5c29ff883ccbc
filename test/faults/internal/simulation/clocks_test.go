// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/judge"
)

// tolerance is how late a slot may be taken, or an expired snapshot deleted.
const tolerance = 30 * time.Minute

// A clock is wrong for seven hours, after a day, under an hourly schedule: that of the operator, or the Date of responses.
func TestClocksThatJump(t *testing.T) {
	off, back := start.Add(day+13*time.Minute), start.Add(day+7*time.Hour+29*time.Minute)
	spec := v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "1h", SnapshotTTL: "10h"}
	for name, by := range map[string]time.Duration{
		"+1h": time.Hour, "-1h": -time.Hour, "+1d": day, "-1d": -day, "+10y": 3652 * day, "-10y": -3652 * day,
		"1970": time.Unix(0, 0).Sub(start), "+50s": 50 * time.Second, "-50s": -50 * time.Second, "no date": noDate,
	} {
		for whose, clocks := range map[string]struct{ operator, date time.Duration }{"operator": {by, 0}, "date": {0, by}} {
			if clocks.operator == noDate {
				continue // no clock is that far ahead
			}
			t.Run(whose+" "+name, func(t *testing.T) {
				runScenario(t, start, spec, func(s scenario) {
					s.pass(time.Until(off), func() { s.setClocks(clocks.operator, clocks.date) })
					s.pass(time.Until(back), func() {
						// An operator that is far behind sees nothing expire, so it has nothing to pause.
						if by.Abs() > time.Minute && clocks.operator > -6*time.Hour {
							s.expect(v1alpha1.ConditionRetentionPaused, v1alpha1.ReasonClockSkew)
						}
						s.setClocks(0, 0)
					})
					s.pass(30*time.Hour, func() {
						for due := start; due.Before(time.Now().Add(-tolerance)); due = due.Add(time.Hour) {
							// While its own clock is wrong, an operator cannot know the hour.
							if clocks.operator == 0 || due.Before(off) || due.After(back) {
								s.expectTaken(due)
							}
						}
						s.expectReady(v1alpha1.ReasonScheduled)
						s.expect(v1alpha1.ConditionRetentionPaused, v1alpha1.ReasonRetentionRunning)
						if late := judge.Late(s.objects(), s.objects(), time.Now(), tolerance, ""); len(late) > 0 {
							t.Errorf("at the end: %q", late)
						}
					})
				})
			})
		}
	}
}

// expectTaken fails unless a slot was taken once and in time. A clock that is ahead takes slots of the future; by the contract they have
// their snapshots when they fall due, unless those are deleted by then.
func (s scenario) expectTaken(due time.Time) {
	inTime, early := 0, false
	for _, c := range s.log {
		v, ok := c.After.(*snapshotv1.VolumeSnapshot)
		if !ok || c.Before != nil || !judge.Slot(v).Equal(due) {
			continue
		}
		if since := c.At.Sub(due); since < 0 {
			early = true
		} else if since <= tolerance {
			inTime++
		}
	}
	if inTime > 1 || inTime == 0 && !early {
		s.t.Errorf("slot %s was taken %d times", due, inTime)
	}
}
