// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"testing"
	"time"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// A schedule of a group would take half of it between the creation of its first PVC and of its last one.
//
// Contract: BACK-7.
func TestNoScheduleSelectsAPVCBeforeAllHaveMoved(t *testing.T) {
	for name, before := range map[string]string{"without exclude": "", "with an exclude of its own": "not this one"} {
		t.Run(name, func(t *testing.T) {
			s := newCluster(t, 2, false)
			old := map[string]bool{}
			for _, p := range s.pvcs() {
				if old[string(p.UID)] = true; before != "" {
					p.Annotations[v1alpha1.AnnotationExclude] = before
					s.must(s.update(p))
				}
			}
			selected := 0
			for done := false; !done; {
				s.now = s.now.Add(time.Second)
				s.tick()
				moved := 0
				selected = 0
				for _, p := range s.pvcs() {
					if old[string(p.UID)] {
						continue
					}
					if !snapshots.Excluded(p) || before != "" && p.Annotations[v1alpha1.AnnotationExclude] == before {
						selected++
					}
					carried := 0
					for _, v := range s.snapshots() {
						if v.Labels[v1alpha1.LabelMapKey] == string(p.UID) {
							carried++
						}
					}
					if carried == 2 {
						moved++
					}
				}
				if selected > 0 && moved < 2 {
					t.Fatalf("%d PVCs are selected, and only %d have moved", selected, moved)
				}
				held := 0
				for _, v := range s.snapshots() {
					if end, _ := backup.HeldUntil(v); end.After(noon.AddDate(1, 0, 0)) {
						held++
					}
				}
				if moved == 2 && selected < 2 && held < 4 {
					t.Fatalf("only %d snapshots are held, and %d PVCs are selected", held, selected)
				}
				var err error
				done, err = s.step(never)
				s.must(err)
			}
			if selected != 2 {
				t.Errorf("at the end %d are selected", selected)
			}
		})
	}
}

// Contract: BACK-7.
func TestOnlyWhatARollbackTakesIsExcludedByIt(t *testing.T) {
	s := newCluster(t, 2, false)
	p := s.pvcs()["data-db-0"]
	for value, want := range map[string]bool{"": false, "true": false, "rollback": false, ExcludedBy("4d3c2b01"): true} {
		p.Annotations[v1alpha1.AnnotationExclude] = value
		if got := snapshots.ExcludedOnlyByRollback(p); got != want {
			t.Errorf("%q: %t", value, got)
		}
	}
	p.Annotations[v1alpha1.AnnotationRollbackOf] = "data-db-0"
	if snapshots.ExcludedOnlyByRollback(p) {
		t.Error("what is restored to meanwhile counts")
	}
}

// A GitOps tool, or a StatefulSet that somebody has scaled up, creates a PVC again before the rollback does. It is bound to the restored volume.
// What the old one had decides whether anything else has to be written into it.
//
// Contract: BACK-7.
func TestAPVCThatSomethingElseHasCreatedIsExcludedUntilAllHaveMoved(t *testing.T) {
	for name, tc := range map[string]struct{ own, before, want string }{
		"of a PVC with annotations":       {"", "mock", ""},
		"of a PVC without any":            {"", "", ""},
		"with an exclude that is its own": {"not this one", "", "not this one"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newCluster(t, 2, false)
			for _, p := range s.pvcs() {
				p.Annotations = map[string]string{}
				if tc.before != "" {
					p.Annotations["volume.kubernetes.io/storage-provisioner"] = tc.before
				}
				s.must(s.update(p))
			}
			s.advance(7)
			p := s.newPVC("data-db-0")
			if p.Annotations = map[string]string{}; tc.own != "" {
				p.Annotations[v1alpha1.AnnotationExclude] = tc.own
			}
			s.create(p)
			s.tick() // it is bound
			for done, steps := false, 0; !done; steps++ {
				var err error
				done, err = s.step(never)
				s.must(err)
				first, second := s.pvcs()["data-db-0"], s.pvcs()["data-db-1"]
				moved := second != nil
				for _, v := range s.snapshots() {
					key := v.Labels[v1alpha1.LabelMapKey]
					moved = moved && (key == "" || key == string(first.UID) || second != nil && key == string(second.UID))
				}
				if !moved && !snapshots.Excluded(first) {
					t.Fatalf("after %d steps, data-db-0 is selected, and the PVCs have not moved", steps+1)
				}
				s.now = s.now.Add(time.Second)
				s.tick()
			}
			if got := s.pvcs()["data-db-0"].Annotations[v1alpha1.AnnotationExclude]; got != tc.want {
				t.Errorf("at the end it has exclude %q, want %q", got, tc.want)
			}
		})
	}
}
