// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"slices"
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/judge"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/simulation/kube"
)

// scenario is a world with an operator, a PVC, and a schedule, in which the same happens every time.
type scenario struct {
	*world
	t *testing.T
}

// runScenario runs a scenario in a bubble. Every write is judged.
func runScenario(t *testing.T, from time.Time, spec v1alpha1.SnapshotScheduleSpec, run func(scenario)) {
	inBubble(t, func() {
		s := scenario{newWorld(from, 1, 5*time.Second), t}
		defer s.end()
		s.locked(func() {
			s.bindClaim(s.create(newClaim("data", "")).(*corev1.PersistentVolumeClaim))
			s.create(&v1alpha1.SnapshotSchedule{ObjectMeta: metav1.ObjectMeta{Name: "plan"}, Spec: spec})
			s.start()
		})
		run(s)
		for _, f := range slices.Concat(s.judge.Found(), s.wrong) {
			t.Error(f)
		}
	})
}

// pass lets time pass, and does something then.
func (s scenario) pass(d time.Duration, do ...func()) {
	time.Sleep(d)
	for _, do := range do {
		s.locked(do)
	}
}

func (s scenario) freeze(k kube.Kind, d time.Duration) func() {
	return func() { s.operators[0].frozen[k] = time.Now().Add(d) }
}

func (s scenario) expect(condition, reason string) {
	s.t.Helper()
	if c := meta.FindStatusCondition(s.schedule("plan").Status.Conditions, condition); c == nil || c.Reason != reason {
		s.t.Errorf("%s: condition %s is %+v, want reason %s", time.Now().UTC(), condition, c, reason)
	}
}

func (s scenario) expectReady(reason string) {
	s.t.Helper()
	s.expect(v1alpha1.ConditionReady, reason)
}

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
						if late := judge.Late(s.state(), time.Now(), tolerance); len(late) > 0 {
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

// The smallest cases of what an operator with a late cache does under an hourly schedule, beside the simulations.
//
// Contract: GUARD-9.
func TestLateCaches(t *testing.T) {
	for name, test := range map[string]struct {
		spec v1alpha1.SnapshotScheduleSpec
		run  func(s scenario)
	}{
		"a newer snapshot is ready": {v1alpha1.SnapshotScheduleSpec{SnapshotTTL: "3h"}, func(s scenario) {
			s.pass(5*time.Hour+time.Minute, s.freeze(kube.Snapshots, 90*time.Minute)) // the one before the newest is the floor
		}},
		"a restore": {v1alpha1.SnapshotScheduleSpec{SnapshotTTL: "3h"}, func(s scenario) {
			s.pass(2*time.Hour+30*time.Minute, s.freeze(kube.Claims, 5*time.Hour), func() {
				s.create(newClaim("restored", s.snapshots()[0].Name))
			})
			// None restores from a snapshot that is being deleted, and that goes only when none wants to.
			s.pass(8*time.Hour, func() {
				s.expectReady(v1alpha1.ReasonRetentionFailing)
				s.delete(kube.Claims, "restored")
			})
		}},
		"newer snapshots that a user has deleted": {v1alpha1.SnapshotScheduleSpec{
			Retention: v1alpha1.Retention{MaxCount: new(int32(3))},
		}, func(s scenario) {
			s.pass(2*time.Hour+50*time.Minute, func() { s.setClocks(2*time.Minute, 0) }) // three snapshots, and nothing is deleted
			s.pass(20*time.Minute, s.freeze(kube.Snapshots, 5*time.Hour), func() {       // four
				for _, gone := range s.snapshots()[1:3] {
					s.delete(kube.Snapshots, gone.Name)
				}
			})
			s.pass(time.Minute, func() { s.setClocks(0, 0) })
		}},
		"a snapshot that covers the slot of a failed one": {v1alpha1.SnapshotScheduleSpec{SnapshotTTL: "1d"}, func(s scenario) {
			s.pass(5*time.Minute, func() { s.driver.modes["data"] = down })
			s.pass(115*time.Minute-10*time.Second, s.freeze(kube.Snapshots, 5*time.Hour))
			s.pass(20*time.Second, func() {
				like := s.snapshots()[0].DeepCopy()
				like.Spec.Source = snapshotv1.VolumeSnapshotSource{VolumeSnapshotContentName: new("content")}
				like.Annotations = map[string]string{
					v1alpha1.AnnotationScheduledAt: time.Now().Truncate(time.Hour / 2).UTC().Format(time.RFC3339),
				}
				s.createSnapshot("successor", like, like.OwnerReferences)
			})
		}},
		"a backup tool's copy of a snapshot that was replaced": {v1alpha1.SnapshotScheduleSpec{
			Retention: v1alpha1.Retention{MinReady: new(int32(0)), Keep: v1alpha1.Keep{Weekly: 3}},
		}, func(s scenario) {
			var old *snapshotv1.VolumeSnapshot
			s.pass(30*time.Minute, func() { old = s.snapshots()[0] })
			s.pass(time.Hour, func() { s.createSnapshot(old.Name, old, nil) }) // the next one has replaced it
		}},
		"a release of the newest, before the TTL is shortened": {v1alpha1.SnapshotScheduleSpec{}, func(s scenario) {
			s.pass(3*time.Hour+30*time.Minute, s.freeze(kube.Snapshots, 2*time.Hour), func() {
				all := s.snapshots()
				s.edit(kube.Snapshots, all[len(all)-1].Name, func(o client.Object) { delete(o.GetLabels(), v1alpha1.LabelMapKey) })
				s.editSpec("plan", func(spec *v1alpha1.SnapshotScheduleSpec) { spec.SnapshotTTL, spec.Suspend = "1h", true })
			})
			s.pass(time.Hour, func() { s.editSpec("plan", func(spec *v1alpha1.SnapshotScheduleSpec) { spec.Suspend = false }) })
		}},
		"the end of the schedule, before a backup tool restores a snapshot": {v1alpha1.SnapshotScheduleSpec{}, func(s scenario) {
			s.pass(90*time.Minute, s.freeze(kube.Schedules, time.Hour), func() {
				old, schedule := s.snapshots()[0], s.schedule("plan")
				s.delete(kube.Schedules, "plan")
				s.createSnapshot("restored", old, nil)
				s.after(2*time.Hour, func() {
					s.create(&v1alpha1.SnapshotSchedule{ObjectMeta: metav1.ObjectMeta{Name: "plan"}, Spec: schedule.Spec})
				})
			})
		}},
		"an older status of the schedule": {v1alpha1.SnapshotScheduleSpec{}, func(s scenario) {
			s.pass(3*time.Hour+time.Second, s.freeze(kube.Schedules, 5*time.Hour)) // status says 4 snapshots, 3 ready
			s.pass(90*time.Minute, func() {                                        // 5, and 5 ready
				for _, v := range s.snapshots()[:2] {
					s.delete(kube.Snapshots, v.Name)
				}
			})
		}},
		// The operator takes a snapshot for each slot, and sees none of them.
		"a broken watch is overdue": {v1alpha1.SnapshotScheduleSpec{}, func(s scenario) {
			s.pass(90*time.Minute, func() { s.expectReady(v1alpha1.ReasonScheduled) }, s.freeze(kube.Snapshots, 4*time.Hour))
			s.pass(time.Hour, func() { s.expectReady(v1alpha1.ReasonScheduled) }) // one slot
			s.pass(50 * time.Minute)                                              // the second; every key is reconciled in a quarter of an hour
			for range 60 {                                                        // beyond the third
				s.pass(time.Minute, func() { s.expectReady(v1alpha1.ReasonSnapshotsFailing) })
			}
			if p := s.schedule("plan").Status.Problems; len(p) != 1 || p[0].Reason != v1alpha1.ReasonSnapshotOverdue {
				t.Errorf("problems are %+v", p)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			test.spec.SnapshotInterval = "1h"
			runScenario(t, start, test.spec, func(s scenario) {
				test.run(s)
				s.pass(0, func() { clear(s.driver.modes) })
				s.pass(8*time.Hour, func() { s.expectReady(v1alpha1.ReasonScheduled) })
			})
		})
	}
}
