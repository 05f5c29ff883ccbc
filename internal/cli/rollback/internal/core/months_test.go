// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/backup"
)

// clone returns the same cluster, in which nobody rolls anything back.
func (s *cluster) clone() *cluster {
	twin := *s
	twin.store, twin.judges = &store{objects: map[string]client.Object{}, version: s.version}, nil
	for key, o := range s.objects {
		twin.objects[key] = o.DeepCopyObject().(client.Object)
	}
	return &twin
}

// gone notes when snapshots are gone, or are being deleted.
func (s *cluster) gone(at map[string]time.Time, names map[string]bool) {
	alive := map[string]bool{}
	for _, v := range s.snapshots() {
		alive[v.Name] = v.DeletionTimestamp == nil
	}
	for name := range names {
		if _, known := at[name]; !known && !alive[name] {
			at[name] = s.now
		}
	}
}

// snapshotNames are those of all snapshots of the schedule.
func (s *cluster) snapshotNames() map[string]bool {
	names := map[string]bool{}
	for _, v := range s.snapshots() {
		if v.Labels[v1alpha1.LabelMapKey] != "" {
			names[v.Name] = true
		}
	}
	return names
}

// days lets days pass, in which the operator and the driver do their work.
func (s *cluster) days(n int, each func()) {
	for range n {
		s.now = time.Date(s.now.Year(), s.now.Month(), s.now.Day()+1, 2, 0, 1, 0, time.UTC)
		for range 2 { // take, cut
			s.tick()
			each()
		}
	}
}

// A history of days under some retention; then rollbacks and undos, finished or not, that are interrupted and gone on with; then months.
// With the operator's own decisions, each snapshot lives at least as long as in the same cluster without any of that, and each slot is
// taken.
//
// Contract: BACK-4.
func TestNoSnapshotGoesEarlierForARollback(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newCluster(t, 2, false)
		chance := func(name string, percent int) bool { return rapid.IntRange(0, 99).Draw(t, name) < percent }
		count := func(name string) int32 { return int32(rapid.IntRange(0, 4).Draw(t, name)) }
		s.under(func(spec *v1alpha1.SnapshotScheduleSpec) {
			spec.Retention.Keep = v1alpha1.Keep{Last: count("last"), Daily: count("daily"), Weekly: count("weekly"), Monthly: count("monthly")}
			if ttl := count("ttl"); ttl > 0 {
				spec.SnapshotTTL = v1alpha1.Duration(fmt.Sprintf("%dd", ttl*3))
			}
			if most := count("maxCount"); most > 0 {
				spec.Retention.MaxCount = new(int32)
				*spec.Retention.MaxCount = most + 1
			}
		})
		s.days(rapid.IntRange(2, 12).Draw(t, "days before"), func() {})
		for _, v := range s.snapshots() { // holds of people are not what this is about
			delete(v.Annotations, v1alpha1.AnnotationHold)
			s.must(s.update(v))
		}
		s.settle()
		s.unchecked = true
		twin := s.clone()
		names, gone, goneTwin := s.snapshotNames(), map[string]time.Time{}, map[string]time.Time{}

		for range rapid.IntRange(1, 3).Draw(t, "rollbacks and undos") {
			s.undo = chance("undo", 40)
			s.goal = s.someGoal(t)
			s.restart()
			for range rapid.IntRange(1, 200).Draw(t, "steps") {
				s.now = s.now.Add(time.Duration(rapid.IntRange(0, 60).Draw(t, "seconds")) * time.Second)
				s.tick()
				s.gone(gone, names)
				done, err := s.step(func() bool { return chance("kill", 2) })
				if done || err != nil {
					break
				}
			}
			if s.undo { // what an undo has begun, only an undo ends
				s.finishUndo()
			}
		}
		if s.undo = true; chance("finish", 80) {
			s.undo = false
			s.restart()
			if _, err := Next(s.observe()); err == nil {
				s.advanceUnsafe(0)
			}
		} else {
			s.finishUndo()
		}
		s.now = s.now.Add(time.Minute)
		twin.now = s.now
		s.settle()
		twin.settle()
		s.gone(gone, names)
		twin.gone(goneTwin, names)
		before := maps.Clone(s.snapshotNames())
		s.days(120, func() { s.gone(gone, names) })
		twin.days(120, func() { twin.gone(goneTwin, names) })

		for name, at := range gone {
			if limit, known := goneTwin[name]; !known || at.Before(limit) {
				t.Fatalf("%s is gone at %s, and without the rollback at %s (known: %t)", name, at, limit, known)
			}
		}
		if s.schedule.Spec.Suspend {
			return
		}
		for claim, p := range s.pvcs() {
			newest := time.Time{}
			for _, v := range s.snapshots() {
				if v.Labels[v1alpha1.LabelMapKey] == string(p.UID) && backup.ReadyToUse(v) && !before[v.Name] && v.CreationTimestamp.After(newest) {
					newest = v.CreationTimestamp.Time
				}
			}
			if s.now.Sub(newest) > 24*time.Hour {
				t.Fatalf("the newest snapshot of %s is of %s: backups do not go on", claim, newest)
			}
		}
	})
}

// someGoal returns the slot of a snapshot that both PVCs have.
func (s *cluster) someGoal(t *rapid.T) string {
	slots := map[string]int{}
	for _, v := range s.snapshots() {
		if v.Labels[v1alpha1.LabelMapKey] != "" && backup.ReadyToUse(v) && v.DeletionTimestamp == nil {
			slots[v.Annotations[v1alpha1.AnnotationScheduledAt]]++
		}
	}
	maps.DeleteFunc(slots, func(_ string, n int) bool { return n < 2 })
	endings := slices.Sorted(maps.Keys(slots))
	return rapid.SampledFrom(endings).Draw(t, "goal")
}

// finishUndo ends an undo that has begun.
func (s *cluster) finishUndo() {
	s.undo = true
	s.restart()
	if _, err := Next(s.observe()); err == nil {
		s.advanceUnsafe(0)
	}
}
