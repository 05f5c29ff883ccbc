// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/change"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// Record is what must outlive an interruption. It is written on the volume whose data
// comes under the name of the PVC, before anything is taken away. A volume may have records of several rollbacks.
type Record struct {
	// Claim is the manifest of the PVC before the rollback, with its UID.
	Claim corev1.PersistentVolumeClaim `json:"claim"`
	// Snapshot is what is restored. Undo is instead the ID of the rollback that is undone: the volume held
	// the data of an earlier time already.
	Snapshot    string    `json:"snapshot,omitempty"`
	SnapshotUID types.UID `json:"snapshotUID,omitempty"`
	Undo        string    `json:"undo,omitempty"`
	// Volume is the volume with the data before the rollback.
	Volume    string    `json:"volume"`
	VolumeUID types.UID `json:"volumeUID"`
	// MapKeys are those of the series that the PVC takes over.
	MapKeys []types.UID `json:"mapKeys"`
	// ReclaimPolicy is that of this volume before the rollback, VolumeReclaimPolicy that of
	// Volume.
	ReclaimPolicy       corev1.PersistentVolumeReclaimPolicy `json:"reclaimPolicy"`
	VolumeReclaimPolicy corev1.PersistentVolumeReclaimPolicy `json:"volumeReclaimPolicy"`
	// Workload is what was scaled to zero, such as statefulset/db.
	Workload string `json:"workload,omitempty"`
	// Lock is a copy of the lock, for the time in which the PVC does not exist.
	Lock     *Lock        `json:"lock,omitempty"`
	Finished *metav1.Time `json:"finished,omitempty"`
	// GivenUp is set if it was undone before it was finished.
	GivenUp bool `json:"givenUp,omitempty"`

	// ID is that of the rollback, and on the volume that has the record.
	ID string                   `json:"-"`
	on *corev1.PersistentVolume `json:"-"`
}

// RecordsOf returns the records on a volume.
func RecordsOf(v *corev1.PersistentVolume) (found []*Record, err error) {
	for _, key := range slices.Sorted(maps.Keys(v.Annotations)) {
		id, is := strings.CutPrefix(key, v1alpha1.AnnotationRollbackPrefix)
		if !is || !idPattern.MatchString(id) {
			continue
		}
		r := &Record{}
		if err := json.Unmarshal([]byte(v.Annotations[key]), r); err != nil {
			return nil, fmt.Errorf("PersistentVolume %s has a malformed annotation %s: %w", v.Name, key, err)
		}
		if r.ID, r.on = id, v; r.Lock != nil && r.Lock.valid() != nil {
			r.Lock = nil
		}
		found = append(found, r)
	}
	return found, nil
}

func setRecord(v *corev1.PersistentVolume, r *Record) change.Change {
	text, err := json.Marshal(r)
	if err != nil {
		panic(err) // what was read from JSON, and texts
	}
	return change.Annotate(v, map[string]any{v1alpha1.AnnotationRollbackPrefix + r.ID: string(text)})
}

// ReadRecords reads all records of the namespace.
func (s *State) ReadRecords() error {
	s.records = map[string]map[string]*Record{}
	for _, name := range slices.Sorted(maps.Keys(s.Volumes)) {
		found, err := RecordsOf(s.Volumes[name])
		if err != nil {
			return err
		}
		for _, r := range found {
			if r.Claim.Namespace != s.Namespace {
				continue
			}
			if s.records[r.Claim.Name] == nil {
				s.records[r.Claim.Name] = map[string]*Record{}
			}
			s.records[r.Claim.Name][r.ID] = r
		}
	}
	return nil
}

// recordsOf returns the records of a PVC, by the ID of the rollback.
func (s *State) recordsOf(claim string) map[string]*Record { return s.records[claim] }

// Recorded returns whether a rollback has written its record of a PVC.
func (s *State) Recorded(id, claim string) bool { return s.recordsOf(claim)[id] != nil }

// unfinished returns the records of unfinished rollbacks of the namespace.
func (s *State) unfinished() (found []*Record) {
	for _, name := range slices.Sorted(maps.Keys(s.records)) {
		for _, id := range slices.Sorted(maps.Keys(s.records[name])) {
			if r := s.records[name][id]; r.Finished == nil {
				found = append(found, r)
			}
		}
	}
	return found
}

// find finds how far the rollback of a PVC has come.
func (c *Claim) find(s *State) error {
	undo := s.lock.Undo
	c.record, c.restored = s.recordsOf(c.Name)[s.lock.ID], c.findRestored(s)
	if undo != "" {
		c.base = s.recordsOf(c.Name)[undo]
	}
	switch {
	case c.record != nil:
		c.target = c.record.on
	case undo != "":
		return c.findUndone(s)
	case c.restored != nil:
		if source := c.restored.Spec.DataSource; source == nil || source.Name != s.lock.Goal(c.Name).Snapshot {
			return fmt.Errorf("PersistentVolumeClaim %s is not what rollback %s has restored: delete it first", c.restored.Name, s.lock.ID)
		}
		c.target = s.bound(c.restored)
	}
	return nil
}

// findRestored returns the PVC to which the data of the snapshot is restored, or was by the rollback that is undone. Its name
// is the one that a rollback gives, and its source the snapshot: who may edit PVCs can set annotations.
func (c *Claim) findRestored(s *State) *corev1.PersistentVolumeClaim {
	id := s.lock.ID
	if s.lock.Undo != "" {
		id = s.lock.Undo
	}
	p := s.PVCs[RestoredName(c.Name, id)]
	if p == nil || p.Annotations[v1alpha1.AnnotationRollbackOf] != c.Name {
		return nil
	}
	return p
}

// findUndone finds the volume with the data before the rollback that is undone.
func (c *Claim) findUndone(s *State) error {
	switch {
	case c.base == nil && c.pvc == nil:
		return fmt.Errorf("PersistentVolumeClaim %s does not exist, and nothing says that it was rolled back", c.Name)
	case c.base == nil, c.pvc != nil && c.pvc.UID == c.base.Claim.UID && c.pvc.DeletionTimestamp == nil:
		c.target, c.stays = s.bound(c.pvc), true
		return nil
	}
	if c.target = s.volume(c.base.Volume, c.base.VolumeUID); c.target == nil {
		return fmt.Errorf("PersistentVolumeClaim %s: PersistentVolume %s, which had its data before the rollback, does not exist any more: "+
			"roll back to the snapshot of that data: %s", c.Name, c.base.Volume, strings.Join(c.safetiesOf(c.base.ID), ", "))
	}
	return nil
}

// volume returns a volume by name and UID; nil if it does not exist.
func (s *State) volume(name string, uid types.UID) *corev1.PersistentVolume {
	if v := s.Volumes[name]; v != nil && v.UID == uid {
		return v
	}
	return nil
}

// bound returns the volume that is bound to a PVC; nil if none is. A PVC that names a volume proves nothing.
func (s *State) bound(p *corev1.PersistentVolumeClaim) *corev1.PersistentVolume {
	if p == nil || p.Status.Phase != corev1.ClaimBound {
		return nil
	}
	v := s.Volumes[p.Spec.VolumeName]
	if v == nil || v.Spec.ClaimRef == nil || v.Spec.ClaimRef.Namespace != s.Namespace || v.Spec.ClaimRef.UID != p.UID {
		return nil
	}
	return v
}

// present returns the finished rollbacks whose data the PVC has now, the latest one last.
func (c *Claim) present(s *State) (found []*Record) {
	v := s.bound(c.pvc)
	for _, r := range s.recordsOf(c.Name) {
		if v != nil && r.on.UID == v.UID && r.Finished != nil {
			found = append(found, r)
		}
	}
	slices.SortFunc(found, func(a, b *Record) int {
		if n := a.Finished.Compare(b.Finished.Time); n != 0 {
			return n
		}
		return strings.Compare(a.ID, b.ID)
	})
	return found
}

// oldVolume returns the PVC's volume before the rollback.
func (c *Claim) oldVolume(s *State) *corev1.PersistentVolume {
	if c.record != nil {
		return s.volume(c.record.Volume, c.record.VolumeUID)
	}
	return s.bound(c.pvc)
}

// moved returns whether the PVC of the name has the target's data.
func (c *Claim) moved() bool {
	p, v := c.pvc, c.target
	return p != nil && v != nil && p.DeletionTimestamp == nil && p.Spec.VolumeName == v.Name &&
		v.Spec.ClaimRef != nil && v.Spec.ClaimRef.UID == p.UID && p.Status.Phase == corev1.ClaimBound
}

// binding returns whether the PVC of the name is bound to a volume, or going to be: the volume binder binds nothing else to it.
func (c *Claim) binding(s *State, v *corev1.PersistentVolume) bool {
	if c.pvc == nil {
		return false
	}
	ref, name := v.Spec.ClaimRef, c.pvc.Spec.VolumeName
	return ref != nil && ref.UID == c.pvc.UID || s.isReserved(v, c.Name) && (name == "" || name == v.Name)
}

// comes returns whether the PVC that the undone rollback has created is not bound yet. Then it is neither the old one, nor another.
func (c *Claim) comes(s *State) bool {
	return c.record == nil && c.base != nil && c.pvc != nil && c.pvc.UID != c.base.Claim.UID &&
		s.bound(c.pvc) == nil && c.binding(s, c.base.on)
}

// old returns whether the PVC of the name is still the one from before the rollback.
func (c *Claim) old() bool {
	switch {
	case c.pvc == nil || c.moved():
		return false
	case c.record != nil:
		return c.pvc.UID == c.record.Claim.UID
	case c.base != nil:
		ref := c.base.on.Spec.ClaimRef
		return c.pvc.UID == c.base.Claim.UID || ref != nil && ref.UID == c.pvc.UID
	}
	return true
}

// newRecord returns the record of a rollback that begins to take something away.
func (c *Claim) newRecord(s *State) (*Record, error) {
	r := &Record{ID: s.lock.ID, Undo: s.lock.Undo, ReclaimPolicy: c.target.Spec.PersistentVolumeReclaimPolicy, Lock: s.renewed(3)}
	if s.Workload != nil {
		r.Workload = s.Workload.Name()
	}
	if c.base != nil {
		c.undoOf(s, r)
		return r, nil
	}
	old := s.bound(c.pvc)
	if old == nil {
		return nil, errors.New("it is not bound to its PersistentVolume")
	}
	r.Claim, r.MapKeys = cleaned(c.pvc), []types.UID{c.pvc.UID}
	r.Volume, r.VolumeUID, r.VolumeReclaimPolicy = old.Name, old.UID, old.Spec.PersistentVolumeReclaimPolicy
	r.Snapshot, r.SnapshotUID = c.Target.Name, c.Target.UID
	return r, nil
}

// undoOf fills in what the undo of a rollback, which may be unfinished, knows from its record.
func (c *Claim) undoOf(s *State, r *Record) {
	base := c.base
	r.Claim, r.ReclaimPolicy = base.Claim, base.VolumeReclaimPolicy
	r.Volume, r.VolumeUID, r.VolumeReclaimPolicy = base.on.Name, base.on.UID, base.ReclaimPolicy
	if r.Workload == "" {
		r.Workload = base.Workload
	}
	if base.Finished == nil {
		r.MapKeys = slices.Clone(base.MapKeys)
	}
	if v := s.bound(c.pvc); v == nil || v.UID != base.on.UID { // it does not exist
		return
	}
	r.MapKeys = append(r.MapKeys, c.pvc.UID)
	if base.Finished != nil {
		r.Claim = cleaned(c.pvc)
		return
	}
	r.Claim.UID = c.pvc.UID // it may not have all that the old one had yet
}

// cleaned returns the manifest by which a PVC is created again.
func cleaned(p *corev1.PersistentVolumeClaim) corev1.PersistentVolumeClaim {
	annotations := maps.Clone(p.Annotations)
	maps.DeleteFunc(annotations, func(key, _ string) bool {
		return strings.HasPrefix(key, "pv.kubernetes.io/") || key == v1alpha1.AnnotationRollback
	})
	if strings.HasPrefix(annotations[v1alpha1.AnnotationExclude], snapshots.ExcludedByRollback) { // left by one that something ended
		delete(annotations, v1alpha1.AnnotationExclude)
	}
	return corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: p.Namespace, Name: p.Name, UID: p.UID, Labels: p.Labels, Annotations: annotations,
		},
		Spec: *p.Spec.DeepCopy(),
	}
}
