// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// unfinished is what is found to be unfinished a while later.
func (s *cluster) unfinished(after time.Duration, workload bool) string {
	o := s.observe()
	o.Now = o.Now.Add(after)
	var on []Noted
	if workload {
		on = append(on, Noted{s.set(), "statefulset/db"})
	}
	for _, name := range []string{"data-db-0", "data-db-1"} {
		if p := s.pvcs()[name]; p != nil {
			on = append(on, Noted{p, "--pvc " + name})
		}
	}
	var words []string
	for _, u := range o.LongUnfinished(on) {
		words = append(words, u.Lock.ID+" "+strings.Join(u.Lock.Names(), ",")+" by "+u.Of)
	}
	return strings.Join(words, "; ")
}

// Interrupted after any step, and also while the PVCs do not exist and no workload has a note.
//
// Contract: BACK-7.
func TestARollbackIsFoundToBeUnfinishedAfterAnHour(t *testing.T) {
	for workload, want := range map[bool]string{
		true: "00000000 data-db-0,data-db-1 by statefulset/db", false: "00000000 data-db-0,data-db-1 by --pvc data-db-",
	} {
		s := newCluster(t, 2, false)
		if !workload {
			set := s.set()
			*set.Spec.Replicas, s.raised = 0, 0
			s.must(s.update(set))
			s.settle()
		}
		began, last, gone, finished := s.now, 0, false, 0
		for range 200 {
			s.now = s.now.Add(time.Second)
			s.tick()
			o := s.observe()
			if !workload {
				o.Workload = nil
			}
			step, err := Next(o)
			s.must(err)
			if step.Number == 0 {
				break
			}
			s.must(s.take(o, step, never))
			if step.Releases {
				break
			}
			if strings.Contains(step.Text, "is finished") {
				finished++
			}
			if finished == 2 { // only the lock is left
				want = ""
			}
			last, gone = step.Number, gone || s.pvcs()["data-db-0"] == nil
			if early := s.unfinished(time.Hour-s.now.Sub(began), workload); early != "" {
				t.Errorf("workload: %t, step %d, within the hour: %s", workload, step.Number, early)
			}
			if got := s.unfinished(time.Hour+time.Minute-s.now.Sub(began), workload); strings.TrimRight(got, "01") != want {
				t.Errorf("workload: %t, step %d: got %q, want %q", workload, step.Number, got, want)
			}
		}
		if got := s.unfinished(time.Hour, workload); got != "" || last != 10 || !gone {
			t.Errorf("workload: %t, after step %d: %q; the PVC was gone: %t", workload, last, got, gone)
		}
	}
}

// Whoever may edit a workload or a PVC writes the note on it.
//
// Contract: BACK-7.
func TestANoteOfATenantHidesNoUnfinishedRollback(t *testing.T) {
	const want = "00000000 data-db-0,data-db-1 by --pvc data-db-0"
	lock := func(id, undo, began string) string {
		return `{"id":"` + id + `","undo":"` + undo + `","began":"` + began + `","time":"` + began + `","claims":[{"name":"data-db-0","snapshot":"a","snapshotUID":"a"}]}`
	}
	for name, tc := range map[string]struct{ note, want string }{
		"none":                    {"", want},
		"no JSON":                 {"{", want},
		"a name that is none":     {strings.Replace(lock("00000001", "", "2026-01-01T00:00:00Z"), "data-db-0", "$(sh)", 1), want},
		"the ID, begun now":       {lock("00000000", "", noon.Add(2*time.Hour).Format(time.RFC3339)), want},
		"the ID, of the future":   {lock("00000000", "", "9999-01-01T00:00:00Z"), want},
		"the ID, of other PVCs":   {strings.Replace(lock("00000000", "", "2026-01-01T00:00:00Z"), "data-db-0", "x", 1), "00000000 x by statefulset/db; " + want},
		"it undoes itself":        {lock("00000000", "00000000", "2026-01-01T00:00:00Z"), want},
		"begun in the year 1":     {strings.Replace(lock("00000001", "", "2026-01-01T00:00:00Z"), "2026", "0001", 1), "00000001 data-db-0 by statefulset/db; " + want},
		"its undo, begun now":     {lock("00000001", "00000000", noon.Add(2*time.Hour).Format(time.RFC3339)), want},
		"its undo, long begun":    {lock("00000001", "00000000", "2026-01-01T00:00:00Z"), "00000001 data-db-0 by statefulset/db; " + want},
		"another one, long begun": {lock("00000001", "", "2026-01-01T00:00:00Z"), "00000001 data-db-0 by statefulset/db; " + want},
	} {
		t.Run(name, func(t *testing.T) {
			s := newCluster(t, 2, false)
			s.advance(7) // the PVCs are deleted, and have records
			s.now = noon.Add(2 * time.Hour)
			o, set := s.observe(), s.set()
			if set.Annotations = nil; tc.note != "" {
				set.Annotations = map[string]string{v1alpha1.AnnotationRollback: tc.note}
			}
			var words []string
			for _, u := range o.LongUnfinished([]Noted{{set, "statefulset/db"}, {&corev1.PersistentVolumeClaim{}, "--pvc "}}) {
				words = append(words, u.Lock.ID+" "+strings.Join(u.Lock.Names(), ",")+" by "+u.Of)
			}
			if got := strings.Join(words, "; "); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
