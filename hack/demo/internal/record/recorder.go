// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"slices"
	"sync"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// Recorder takes note of what a watch delivers.
type Recorder struct {
	now func() time.Time

	mu        sync.Mutex
	changed   chan struct{}
	claims    map[types.UID]*Claim
	snapshots map[types.UID]*Snapshot
	contents  map[types.UID]bool
	schedule  *v1alpha1.SnapshotSchedule
}

// New is a recorder that has seen nothing yet.
func New(now func() time.Time) *Recorder {
	return &Recorder{
		now: now, changed: make(chan struct{}),
		claims: map[types.UID]*Claim{}, snapshots: map[types.UID]*Snapshot{}, contents: map[types.UID]bool{},
	}
}

// Look gives the world as it is now, and a channel that is closed when it changes.
func (r *Recorder) Look() (World, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	w := World{Now: r.now(), Contents: len(r.contents), Schedule: r.schedule}
	for _, c := range r.claims {
		w.Claims = append(w.Claims, *c)
	}
	slices.SortFunc(w.Claims, func(a, b Claim) int { return compare(a.Created, a.Name, b.Created, b.Name) })
	for _, s := range r.snapshots {
		w.Snapshots = append(w.Snapshots, *s)
	}
	slices.SortFunc(w.Snapshots, func(a, b Snapshot) int { return compare(a.Created, a.Name, b.Created, b.Name) })
	return w, r.changed
}

func compare(at time.Time, name string, bt time.Time, other string) int {
	if c := at.Compare(bt); c != 0 {
		return c
	}
	if name < other {
		return -1
	}
	return 1
}

// change runs f alone and wakes who waits for a change.
func (r *Recorder) change(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f()
	close(r.changed)
	r.changed = make(chan struct{})
}

// See notes that an object is there, as it is now.
func (r *Recorder) See(object any) {
	r.change(func() {
		switch o := object.(type) {
		case *corev1.PersistentVolumeClaim:
			r.claims[o.UID] = &Claim{
				Name: o.Name, UID: o.UID, Labels: o.Labels,
				Bound: o.Status.Phase == corev1.ClaimBound, Created: o.CreationTimestamp.Time,
			}
		case *snapshotv1.VolumeSnapshot:
			r.seeSnapshot(o)
		case *snapshotv1.VolumeSnapshotContent:
			r.contents[o.UID] = true
		case *v1alpha1.SnapshotSchedule:
			r.schedule = o
		}
	})
}

func (r *Recorder) seeSnapshot(o *snapshotv1.VolumeSnapshot) {
	s := r.snapshots[o.UID]
	if s == nil {
		s = &Snapshot{
			Name: o.Name, UID: o.UID, Claim: ptr.Deref(o.Spec.Source.PersistentVolumeClaimName, ""),
			Created: o.CreationTimestamp.Time,
		}
		r.snapshots[o.UID] = s
	}
	s.MapKey = o.Labels[v1alpha1.LabelMapKey]
	s.Owner = ""
	if owner := metav1.GetControllerOf(o); owner != nil {
		s.Owner = string(owner.UID)
	}
	// The zero time stands for an annotation that is missing or wrong.
	s.Slot, _ = time.Parse(time.RFC3339, o.Annotations[v1alpha1.AnnotationScheduledAt])
	s.Ready = false
	if o.Status != nil {
		s.Ready = ptr.Deref(o.Status.ReadyToUse, false)
		s.Cut = s.Cut || o.Status.CreationTime != nil
	}
	if s.Ready && s.ReadyAt.IsZero() {
		s.ReadyAt = r.now()
	}
	if o.DeletionTimestamp != nil {
		s.Deleted = o.DeletionTimestamp.Time
	}
}

// Lose notes that an object, last seen so, is there no more.
func (r *Recorder) Lose(object any) {
	r.change(func() {
		now := r.now()
		switch o := object.(type) {
		case *corev1.PersistentVolumeClaim:
			if c := r.claims[o.UID]; c != nil {
				c.Gone = now
			}
		case *snapshotv1.VolumeSnapshot:
			r.seeSnapshot(o)
			s := r.snapshots[o.UID]
			s.Gone = now
			if s.Deleted.IsZero() {
				// Deleted at once, without a finalizer to wait for, or while the watch was down.
				s.Deleted = now
			}
		case *snapshotv1.VolumeSnapshotContent:
			delete(r.contents, o.UID)
		case *v1alpha1.SnapshotSchedule:
			if r.schedule != nil && r.schedule.UID == o.UID {
				r.schedule = nil
			}
		}
	})
}
