// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// recorder has a clock that goes on by a second with each look at it.
func recorder() *Recorder {
	now := start
	return New(func() time.Time {
		now = now.Add(time.Second)
		return now
	})
}

func snapshot(change func(*snapshotv1.VolumeSnapshot)) *snapshotv1.VolumeSnapshot {
	s := &snapshotv1.VolumeSnapshot{
		ObjectMeta: metav1.ObjectMeta{
			Name: "db-1", UID: "1", CreationTimestamp: metav1.NewTime(start),
			Labels:          map[string]string{v1alpha1.LabelMapKey: "db-uid"},
			Annotations:     map[string]string{v1alpha1.AnnotationScheduledAt: "2026-01-02T03:04:00Z"},
			OwnerReferences: []metav1.OwnerReference{{UID: "s", Controller: ptr.To(true)}},
		},
		Spec: snapshotv1.VolumeSnapshotSpec{Source: snapshotv1.VolumeSnapshotSource{PersistentVolumeClaimName: ptr.To("db")}},
	}
	if change != nil {
		change(s)
	}
	return s
}

func ready(yes bool) func(*snapshotv1.VolumeSnapshot) {
	return func(s *snapshotv1.VolumeSnapshot) {
		s.Status = &snapshotv1.VolumeSnapshotStatus{ReadyToUse: &yes, CreationTime: ptr.To(metav1.NewTime(start))}
	}
}

func deleted(s *snapshotv1.VolumeSnapshot) {
	s.DeletionTimestamp = ptr.To(metav1.NewTime(start.Add(time.Minute)))
}

func only(t *testing.T, r *Recorder) Snapshot {
	t.Helper()
	w, _ := r.Look()
	if len(w.Snapshots) != 1 {
		t.Fatalf("%d snapshots", len(w.Snapshots))
	}
	return w.Snapshots[0]
}

func TestSnapshotsLife(t *testing.T) {
	r := recorder()
	r.See(snapshot(nil))
	s := only(t, r)
	if s.Claim != "db" || s.MapKey != "db-uid" || s.Owner != "s" || !s.Slot.Equal(start.Add(-5*time.Second)) || !s.Created.Equal(start) {
		t.Errorf("new: %+v", s)
	}
	if s.Cut || s.Ready || !s.ReadyAt.IsZero() || !s.Live() || s.Usable() {
		t.Errorf("new: %+v", s)
	}
	r.See(snapshot(ready(true)))
	s = only(t, r)
	first := s.ReadyAt
	if !s.Cut || !s.Usable() || first.IsZero() {
		t.Errorf("ready: %+v", s)
	}
	r.See(snapshot(ready(false)))
	if s = only(t, r); s.Ready || !s.ReadyAt.Equal(first) {
		t.Errorf("no longer ready: %+v", s)
	}
	r.See(snapshot(deleted))
	if s = only(t, r); s.Live() || !s.Gone.IsZero() || !s.Deleted.Equal(start.Add(time.Minute)) {
		t.Errorf("being deleted: %+v", s)
	}
	r.Lose(snapshot(deleted))
	if s = only(t, r); s.Gone.IsZero() || !s.Deleted.Equal(start.Add(time.Minute)) {
		t.Errorf("gone: %+v", s)
	}
}

func TestDeletedWithoutATrace(t *testing.T) {
	r := recorder()
	r.See(snapshot(nil))
	r.Lose(snapshot(nil))
	if s := only(t, r); s.Gone.IsZero() || !s.Deleted.Equal(s.Gone) {
		t.Errorf("%+v", s)
	}
}

func TestSnapshotWithoutMarks(t *testing.T) {
	r := recorder()
	r.See(snapshot(func(s *snapshotv1.VolumeSnapshot) {
		s.Labels, s.Annotations, s.OwnerReferences = nil, nil, nil
		s.Spec.Source.PersistentVolumeClaimName = nil
	}))
	if s := only(t, r); s.Claim != "" || s.MapKey != "" || s.Owner != "" || !s.Slot.IsZero() {
		t.Errorf("%+v", s)
	}
}

func TestClaimsScheduleAndContents(t *testing.T) {
	r := recorder()
	claim := func(name string, uid types.UID, created time.Time) *corev1.PersistentVolumeClaim {
		return &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Name: name, UID: uid, CreationTimestamp: metav1.NewTime(created)},
			Status:     corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound},
		}
	}
	schedule := &v1alpha1.SnapshotSchedule{ObjectMeta: metav1.ObjectMeta{UID: "s"}}
	content := &snapshotv1.VolumeSnapshotContent{ObjectMeta: metav1.ObjectMeta{UID: "c"}}
	r.See(claim("mail", "1", start))
	r.See(claim("db", "2", start))
	r.See(schedule)
	r.See(content)
	r.See(content)
	w, _ := r.Look()
	if len(w.Claims) != 2 || w.Claims[0].Name != "db" || w.Contents != 1 || w.Schedule != schedule || !w.Claim("mail").Bound {
		t.Errorf("%+v", w)
	}
	r.Lose(claim("mail", "1", start))
	r.Lose(content)
	r.Lose(&v1alpha1.SnapshotSchedule{ObjectMeta: metav1.ObjectMeta{UID: "another"}})
	w, _ = r.Look()
	if w.Claim("mail").Gone.IsZero() || w.Contents != 0 || w.Schedule == nil {
		t.Errorf("%+v", w)
	}
	r.Lose(schedule)
	r.See(claim("mail", "3", start.Add(time.Hour)))
	w, _ = r.Look()
	if w.Schedule != nil || w.Claim("mail").UID != "3" || w.Claim("nobody") != nil {
		t.Errorf("the newest of a name counts: %+v", w)
	}
}

func TestEveryChangeIsTold(t *testing.T) {
	r := recorder()
	_, changed := r.Look()
	select {
	case <-changed:
		t.Fatal("nothing has changed")
	default:
	}
	r.See(snapshot(nil))
	<-changed
	_, changed = r.Look()
	r.Lose(snapshot(nil))
	<-changed
}

func TestSeriesAreInTheOrderOfSlots(t *testing.T) {
	w := World{Snapshots: []Snapshot{
		{Name: "b", Claim: "db", Slot: start.Add(time.Second), Ready: true},
		{Name: "c", Claim: "mail", Slot: start},
		{Name: "a", Claim: "db", Slot: start, Gone: start},
		{Name: "d", Claim: "db", Slot: start.Add(time.Minute), Deleted: start},
	}}
	names := func(all []Snapshot) (found string) {
		for _, s := range all {
			found += s.Name
		}
		return found
	}
	for what, got := range map[string][2]string{
		"series": {names(w.Series("db")), "abd"},
		"there":  {names(w.There("db")), "bd"},
		"live":   {names(w.Live("db")), "b"},
		"usable": {names(w.Usable("db")), "b"},
		"left":   {names(w.Left()), "cbd"},
	} {
		if got[0] != got[1] {
			t.Errorf("%s: %s, want %s", what, got[0], got[1])
		}
	}
}
