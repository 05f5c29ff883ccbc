// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"strings"
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/backup"
)

// under makes the schedule another one.
func (s *cluster) under(change func(*v1alpha1.SnapshotScheduleSpec)) *cluster {
	s.schedule.Spec = v1alpha1.SnapshotScheduleSpec{Schedule: "0 2 * * *", DeletionPolicy: v1alpha1.DeletionOrphan}
	change(&s.schedule.Spec)
	s.judges = nil
	return s
}

// The snapshot of the data before the rollback is newer than the good one of its day. If it counted, a tier would keep it instead.
//
// Contract: BACK-4.
func TestARollbackDoesNotCostItsTarget(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*v1alpha1.SnapshotScheduleSpec)
		after  time.Duration
	}{
		"daily 7, two days later": {func(s *v1alpha1.SnapshotScheduleSpec) { s.Retention.Keep.Daily = 7 }, 48 * time.Hour},
		"last 1, at once":         {func(s *v1alpha1.SnapshotScheduleSpec) { s.Retention.Keep.Last = 1 }, time.Minute},
		"three tiers, two days later": {func(s *v1alpha1.SnapshotScheduleSpec) {
			s.Retention.Keep = v1alpha1.Keep{Daily: 7, Weekly: 4, Monthly: 12}
		}, 48 * time.Hour},
		"two days and tiers, three days later": {func(s *v1alpha1.SnapshotScheduleSpec) {
			s.SnapshotTTL, s.Retention.Keep = "2d", v1alpha1.Keep{Daily: 7, Weekly: 4}
		}, 72 * time.Hour},
		"the floor, a month later without snapshots": {func(s *v1alpha1.SnapshotScheduleSpec) {
			s.SnapshotTTL, s.Suspend = "2d", true
		}, 30 * 24 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			s := newCluster(t, 2, false).under(tc.change)
			s.advance(0)
			s.now = s.now.Add(tc.after)
			if deletes := strings.Join(s.deletes("data-db-0"), ", "); strings.Contains(deletes, "data-db-0-0 ") {
				t.Errorf("the snapshot that was rolled back to is deleted: %s", deletes)
			}
		})
	}
}

// fails has the driver report an error for everything that is not ready.
func (s *cluster) fails(message string) {
	s.broken = true
	for _, v := range s.snapshots() {
		if !backup.ReadyToUse(v) {
			v.Status = &snapshotv1.VolumeSnapshotStatus{ReadyToUse: ptr.To(false), Error: &snapshotv1.VolumeSnapshotError{
				Time: ptr.To(metav1.NewTime(s.now)), Message: &message}}
			s.must(s.update(v))
		}
	}
}

func (s *cluster) safeties() (all []*snapshotv1.VolumeSnapshot) {
	for _, v := range s.snapshots() {
		if v.Labels[v1alpha1.LabelRollback] != "" {
			all = append(all, v)
		}
	}
	return all
}

// A safety snapshot that the storage does not take ends the rollback before anything is taken away, and nothing of it is left.
//
// Contract: BACK-4.
func TestAFailedSafetySnapshotEndsTheRollback(t *testing.T) {
	for name, tc := range map[string]struct {
		error string
		after time.Duration
		want  string
	}{
		"in error":      {"quota of snapshots exceeded", 2 * time.Minute, "was not ready after 2m0s: quota of snapshots exceeded"},
		"without a cut": {"", cutWithin, "was not ready after 30m0s"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newCluster(t, 2, false)
			s.broken = true
			ended := ""
			for range 100 {
				s.tick()
				if tc.error != "" {
					s.fails(tc.error)
				}
				o := s.observe()
				step, err := Next(o)
				s.must(err)
				if step.Number == 0 {
					break
				}
				if step.Ends != nil {
					ended = step.Ends.Error()
				}
				s.must(s.take(o, step, never))
				if len(step.Changes) == 0 {
					s.now = s.now.Add(time.Minute)
				}
			}
			if !strings.Contains(ended, tc.want) || !strings.Contains(ended, "--skip-safety-snapshot") {
				t.Errorf("it ends with %q", ended)
			}
			if left := s.safeties(); len(left) > 0 {
				t.Errorf("%s is left", left[0].Name)
			}
			if s.now.Sub(noon) > tc.after+time.Minute || *s.set().Spec.Replicas != 2 {
				t.Errorf("it took until %s, and there are %d replicas", s.now, *s.set().Spec.Replicas)
			}
			s.undo = false
			if err := s.finished(oldData); err != nil {
				t.Error(err)
			}
		})
	}
}

// Whoever runs it again, or undoes it, finds the safety snapshot of an earlier run by its ID. It never stops the PVC's backups.
//
// Contract: BACK-4.
func TestAnUncutSafetySnapshotIsRemoved(t *testing.T) {
	for name, undo := range map[string]bool{"by the next run": false, "by the undo": true} {
		t.Run(name, func(t *testing.T) {
			s := newCluster(t, 2, false)
			s.broken = true
			for range 20 {
				_, err := s.step(never)
				s.must(err)
			}
			first := s.safeties()
			if len(first) != 2 {
				t.Fatalf("there are %d", len(first))
			}
			s.now = s.now.Add(24*time.Hour - time.Minute)
			s.undo = undo
			s.restart()
			s.advanceOrEnd()
			for _, v := range s.safeties() {
				if v.Name == first[0].Name || v.Name == first[1].Name {
					t.Errorf("%s is left", v.Name)
				}
			}
			s.broken = false
			s.now = s.now.Add(24 * time.Hour)
			s.settle()
			for key, d := range s.judgments() {
				if n := len(d.Outputs); n < 3 || !backup.ReadyToUse(d.Outputs[n-1].(*snapshotv1.VolumeSnapshot)) {
					t.Errorf("of %s nothing was taken: %d, %v", key, n, d.Problems)
				}
			}
		})
	}
}

// advanceOrEnd takes steps until it waits for something that does not come, or the end.
func (s *cluster) advanceOrEnd() {
	for range 100 {
		s.tick()
		o := s.observe()
		step, err := Next(o)
		s.must(err)
		if step.Number == 0 {
			return
		}
		s.must(s.take(o, step, never))
	}
}

// deleting has somebody delete a snapshot, with a driver that does not do it.
func (s *cluster) deleting(v *snapshotv1.VolumeSnapshot) {
	v.Finalizers = []string{"snapshot.storage.kubernetes.io/volumesnapshot-bound-protection"}
	s.must(s.update(v))
	s.must(s.delete(s.get(v)))
}

// A PVC that the rollback has just created, and that the volume binder has not seen yet, is nobody else's.
//
// Contract: BACK-1.
func TestUndoWaitsForThePVCThatTheRollbackHasCreated(t *testing.T) {
	s := newCluster(t, 2, false)
	s.advance(7)
	for range 2 { // one PVC after the other, and nothing is bound meanwhile
		_, err := s.step(never)
		s.must(err)
	}
	s.undo = true
	s.restart()
	for range 2 { // takes the lock, then waits
		_, err := s.step(never)
		s.must(err)
	}
	step, err := Next(s.observe())
	if err != nil || !strings.Contains(step.Text, "is not bound to PersistentVolume") || len(step.Changes) > 0 {
		t.Fatalf("undo does %q: %v", step.Text, err)
	}
	s.advance(0)
	if err := s.finished(oldData); err != nil {
		t.Error(err)
	}
}

// The snapshot that was restored from is being deleted: the undo must not delete the volume with what will be the only copy.
//
// Contract: BACK-1.
func TestAnUndoKeepsTheOnlyCopy(t *testing.T) {
	for number := 3; number <= 6; number++ {
		s := newCluster(t, 2, false)
		s.advance(number)
		for len(s.pvcs()) < 4 { // restored, without a record
			_, err := s.step(never)
			s.must(err)
		}
		s.settle()
		for _, v := range s.snapshots() {
			if strings.HasSuffix(v.Name, "-0-0") || strings.HasSuffix(v.Name, "-0-1") { // of data-db-0
				s.deleting(v)
			}
		}
		s.undo = true
		s.restart()
		s.advanceUnsafe(0)
		s.tickClaims()
		s.tickVolumes()
		left := 0
		for _, v := range s.volumes() {
			if ref := v.Spec.ClaimRef; v.Annotations[data] == earlier && ref != nil && strings.HasPrefix(ref.Name, "data-db-0") {
				left++
			}
		}
		if left == 0 {
			t.Errorf("step %d: the volume with the restored data of data-db-0 is deleted, and its snapshots are being deleted", number)
		}
	}
}

// advanceUnsafe takes steps without a look at what is kept meanwhile.
func (s *cluster) advanceUnsafe(number int) {
	for range 300 {
		s.now = s.now.Add(time.Second)
		s.tick()
		o := s.observe()
		step, err := Next(o)
		s.must(err)
		if step.Number == number {
			return
		}
		for _, c := range append(step.Renewals, step.Changes...) {
			s.apply(c)
		}
		own := *o.Lock()
		own.User = s.user
		s.own, s.released = &own, step.Releases
		s.scaled = s.scaled || step.Scales
	}
	s.tb.Fatalf("step %d does not come", number)
}

// undoAll undoes the latest rollback, and returns what it says.
func (s *cluster) undoAll() string {
	s.undo = true
	s.restart()
	s.advanceUnsafe(0)
	o := s.observe()
	_, err := Next(o)
	s.must(err)
	lines, _ := Result(o)
	s.settle()
	return strings.Join(lines, "\n")
}

// A second rollback is interrupted in any step and given up. The first one can still be undone.
//
// Contract: BACK-3.
func TestTheUndoOfASecondRollbackLeavesTheFirst(t *testing.T) {
	for number := 1; number <= 10; number++ {
		s := newCluster(t, 2, false)
		s.advance(0)
		s.settle()
		s.goal = "-1"
		s.restart()
		s.advance(number)
		_, err := s.step(never)
		s.must(err)
		said := s.undoAll()
		p := s.pvcs()["data-db-0"]
		if got := s.volumes()[p.Spec.VolumeName].Annotations[data]; got != earlier {
			t.Fatalf("step %d: the undo of the second: data-db-0 has the data %q: %s", number, got, said)
		}
		said = s.undoAll()
		p = s.pvcs()["data-db-0"]
		if got := s.volumes()[p.Spec.VolumeName].Annotations[data]; got != oldData || !strings.Contains(said, "has its data from before rollback 00000000 again") {
			t.Errorf("step %d: the undo of both: data-db-0 has the data %q: %s", number, got, said)
		}
		s.restart()
		if _, err := Next(s.observe()); err == nil || err.Error() != "there is no rollback to undo" {
			t.Errorf("step %d: after both: %v", number, err)
		}
	}
}

// What is being deleted keeps the hold of a finished rollback, which is no sign of an unfinished one.
//
// Contract: BACK-3.
func TestAnUndoWhileASnapshotIsBeingDeleted(t *testing.T) {
	s := newCluster(t, 2, false)
	s.advance(5)
	s.deleting(byName[*snapshotv1.VolumeSnapshot](s.store)["data-db-0-1"])
	s.advanceUnsafe(0)
	s.settle()
	said := s.undoAll()
	if got := s.volumes()[s.pvcs()["data-db-0"].Spec.VolumeName].Annotations[data]; got != oldData {
		t.Errorf("after the undo data-db-0 has the data %q: %s", got, said)
	}
}

// An undo is a rollback, too: it is undone by its ID.
//
// Contract: BACK-3.
func TestAnUndoIsUndoneByItsID(t *testing.T) {
	s := newCluster(t, 2, false)
	s.advance(0)
	s.settle()
	s.undoAll()
	o := s.observe()
	_, err := Next(o)
	s.must(err)
	_, undo := Result(o)
	id, is := strings.CutPrefix(undo, "--undo=")
	if !is {
		t.Fatalf("it is undone by %q", undo)
	}
	s.undoID = id
	said := s.undoAll()
	if got := s.volumes()[s.pvcs()["data-db-0"].Spec.VolumeName].Annotations[data]; got != earlier {
		t.Errorf("data-db-0 has the data %q: %s", got, said)
	}
	s.undoID = "12345678"
	s.restart()
	if _, err := Next(s.observe()); err == nil || !strings.Contains(err.Error(), "there is no rollback 12345678") {
		t.Errorf("an unknown one: %v", err)
	}
}
