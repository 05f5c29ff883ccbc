// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package rollback

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
)

// Record is what must outlive an interruption. It is written on the volume whose data
// comes under the name of the PVC, before anything is taken away.
type Record struct {
	// Claim is the manifest of the PVC before the rollback, with its UID.
	Claim corev1.PersistentVolumeClaim `json:"claim"`
	// Snapshot is what is restored. Undo is true instead if the volume held the data of an
	// earlier time already.
	Snapshot    string    `json:"snapshot,omitempty"`
	SnapshotUID types.UID `json:"snapshotUID,omitempty"`
	Undo        bool      `json:"undo,omitempty"`
	// Safety is the snapshot of the data before the rollback, if there was any.
	Safety string `json:"safetySnapshot,omitempty"`
	// Volume is the volume with the data before the rollback.
	Volume string `json:"volume"`
	// MapKeys are those of the series that the PVC takes over.
	MapKeys []types.UID `json:"mapKeys"`
	// ReclaimPolicy is that of this volume before the rollback, VolumeReclaimPolicy that of
	// Volume.
	ReclaimPolicy       corev1.PersistentVolumeReclaimPolicy `json:"reclaimPolicy"`
	VolumeReclaimPolicy corev1.PersistentVolumeReclaimPolicy `json:"volumeReclaimPolicy"`
	// Workload is what was scaled to zero, such as statefulset/db.
	Workload string       `json:"workload,omitempty"`
	Replicas int32        `json:"replicas,omitempty"`
	Finished *metav1.Time `json:"finished,omitempty"`
}

// RecordOf returns the record on a volume; nil if there is none.
func RecordOf(v *corev1.PersistentVolume) (*Record, error) {
	text, ok := v.Annotations[v1alpha1.AnnotationRollback]
	if !ok {
		return nil, nil
	}
	r := &Record{}
	if err := json.Unmarshal([]byte(text), r); err != nil {
		return nil, fmt.Errorf("PersistentVolume %s has a malformed annotation %s: %w", v.Name, v1alpha1.AnnotationRollback, err)
	}
	return r, nil
}

// found is what find has found about a claim.
type found struct {
	// pvc has the name now. restored is what a snapshot was restored to, until it is deleted.
	pvc, restored *corev1.PersistentVolumeClaim
	// target is the volume whose data the PVC gets, and record the one on it. Both are nil
	// until they exist.
	target *corev1.PersistentVolume
	record *Record
	// base is the record of the rollback that is undone; nil if that has not come so far.
	base    *Record
	records map[string]*Record // all of the PVC, by volume
	done    bool
}

// find finds how far the rollback of a PVC has come.
func (c *Claim) find(s *State) error {
	c.found = found{records: map[string]*Record{}, pvc: s.PVCs[c.Name]}
	if err := c.readRecords(s); err != nil {
		return err
	}
	c.restored = c.findRestored(s)
	for _, name := range slices.Sorted(maps.Keys(c.records)) {
		r := c.records[name]
		switch {
		case r.Finished != nil:
		case r.Undo && c.Target != nil:
			return fmt.Errorf("PersistentVolumeClaim %s: the undo of an earlier rollback is unfinished: finish it first with --undo", c.Name)
		case c.Target != nil && r.SnapshotUID != c.Target.UID:
			return fmt.Errorf("PersistentVolumeClaim %s: its rollback to %s is unfinished: "+
				"finish it first with --to-snapshot %s, or undo it with --undo", c.Name, r.Snapshot, r.Snapshot)
		case c.Target != nil || r.Undo:
			c.record, c.target = r, s.Volumes[name]
		default:
			c.base = r
		}
	}
	switch {
	case c.record != nil:
		return nil
	case c.Target != nil:
		return c.findTarget(s)
	}
	return c.findUndone(s)
}

// readRecords reads the records of the PVC.
func (c *Claim) readRecords(s *State) error {
	for name, v := range s.Volumes {
		r, err := RecordOf(v)
		if err != nil {
			return err
		}
		if r != nil && r.Claim.Namespace == s.Namespace && r.Claim.Name == c.Name {
			c.records[name] = r
		}
	}
	return nil
}

// present returns the finished record of the data that the PVC has now, or nil.
func (c *Claim) present() *Record {
	if c.pvc == nil {
		return nil
	}
	return c.records[c.pvc.Spec.VolumeName]
}

// findRestored returns the PVC that the data of a snapshot was restored to. Its name, too, must be
// the one that a rollback gives: who may edit PVCs can set annotations.
func (c *Claim) findRestored(s *State) *corev1.PersistentVolumeClaim {
	of := func(uid, snapshot types.UID) *corev1.PersistentVolumeClaim {
		p := s.PVCs[RestoredName(c.Name, uid, snapshot)]
		if p != nil && p.Annotations[v1alpha1.AnnotationRollbackOf] == string(uid) {
			return p
		}
		return nil
	}
	for _, r := range c.records {
		if p := of(r.Claim.UID, r.SnapshotUID); p != nil {
			return p
		}
	}
	for _, v := range c.Snapshots {
		if c.pvc == nil {
			break
		}
		if p := of(c.pvc.UID, v.UID); p != nil {
			return p
		}
	}
	return nil
}

// findTarget finds the volume of a rollback that has no record yet.
func (c *Claim) findTarget(s *State) error {
	if r := c.present(); r != nil && !r.Undo && r.SnapshotUID == c.Target.UID && (!c.Again || !r.Finished.Time.Before(s.Began)) {
		c.record, c.target, c.done = r, s.Volumes[c.pvc.Spec.VolumeName], true
		return nil
	}
	switch p := c.restored; {
	case p == nil:
	case p.Spec.DataSource == nil || p.Spec.DataSource.Name != c.Target.Name:
		return fmt.Errorf("PersistentVolumeClaim %s: its rollback to another snapshot, with %s, is unfinished: undo it first with --undo",
			c.Name, p.Name)
	case p.Status.Phase == corev1.ClaimBound:
		c.target = s.Volumes[p.Spec.VolumeName]
	}
	return nil
}

// findUndone finds the volume with the data before the last rollback.
func (c *Claim) findUndone(s *State) error {
	begun := c.restored != nil
	for _, v := range c.Snapshots {
		_, marked := v.Annotations[v1alpha1.AnnotationHoldBeforeRollback]
		begun = begun || marked
	}
	switch r := c.present(); {
	case c.base != nil:
	case c.pvc == nil:
		return fmt.Errorf("PersistentVolumeClaim %s does not exist, and nothing says that it was rolled back", c.Name)
	case begun:
		if c.target = s.Volumes[c.pvc.Spec.VolumeName]; c.target == nil {
			return fmt.Errorf("PersistentVolumeClaim %s: its PersistentVolume %s does not exist", c.Name, c.pvc.Spec.VolumeName)
		}
		return nil
	case r == nil || r.Undo: // never rolled back, or undone already
		c.record, c.target, c.done = r, s.Volumes[c.pvc.Spec.VolumeName], true
		return nil
	default:
		c.base = r
	}
	if c.target = s.Volumes[c.base.Volume]; c.target == nil {
		return fmt.Errorf("PersistentVolumeClaim %s: PersistentVolume %s, which had its data before the rollback, does not exist any more: "+
			"roll back to the snapshot of that data, with --to-snapshot %s", c.Name, c.base.Volume, c.base.Safety)
	}
	return nil
}

// oldVolume returns the PVC's volume before the rollback, as its record or the PVC names it.
func (c *Claim) oldVolume(s *State) *corev1.PersistentVolume {
	switch {
	case c.record != nil:
		return s.Volumes[c.record.Volume]
	case c.pvc != nil:
		return s.Volumes[c.pvc.Spec.VolumeName]
	}
	return nil
}

// moved returns whether the PVC of the name has the target's data.
func (c *Claim) moved() bool {
	p, v := c.pvc, c.target
	return p != nil && v != nil && p.DeletionTimestamp == nil && p.Spec.VolumeName == v.Name &&
		v.Spec.ClaimRef != nil && v.Spec.ClaimRef.UID == p.UID && p.Status.Phase == corev1.ClaimBound
}

// binding returns whether the PVC of the name is bound to the target, or half so.
func (c *Claim) binding() bool {
	ref := c.target.Spec.ClaimRef
	return c.pvc != nil && (c.pvc.Spec.VolumeName == c.target.Name || c.pvc.Spec.VolumeName == "" && ref != nil && ref.UID == c.pvc.UID)
}

// old returns whether the PVC of the name is still the one from before the rollback.
func (c *Claim) old() bool {
	return c.pvc != nil && !c.moved() && (c.record == nil || c.pvc.UID == c.record.Claim.UID)
}

// newRecord returns the record of a rollback that begins, or that goes on before
// anything was taken away.
func (c *Claim) newRecord(s *State) (*Record, error) {
	r := &Record{Undo: c.Target == nil, ReclaimPolicy: c.target.Spec.PersistentVolumeReclaimPolicy}
	switch {
	case c.record != nil:
		*r = *c.record
	case c.Target != nil:
		r.Snapshot, r.SnapshotUID = c.Target.Name, c.Target.UID
	case c.base != nil:
		r.Workload, r.MapKeys, r.ReclaimPolicy = c.base.Workload, c.base.MapKeys, c.base.VolumeReclaimPolicy
		r.Claim = c.base.Claim
		for name, of := range c.records {
			if of == c.base {
				r.Volume, r.VolumeReclaimPolicy = name, of.ReclaimPolicy
			}
		}
		if c.base.Finished == nil {
			r.Replicas = c.base.Replicas
		} else {
			r.MapKeys = nil
		}
	}
	if c.pvc != nil && c.record == nil && (c.base == nil || c.pvc.Spec.VolumeName == r.Volume) {
		r.Claim = cleaned(c.pvc)
		r.MapKeys = append([]types.UID{c.pvc.UID}, r.MapKeys...)
		if c.base == nil {
			v := s.Volumes[c.pvc.Spec.VolumeName]
			if v == nil {
				return nil, fmt.Errorf("PersistentVolumeClaim %s: its PersistentVolume %s does not exist", c.Name, c.pvc.Spec.VolumeName)
			}
			r.Volume, r.VolumeReclaimPolicy = v.Name, v.Spec.PersistentVolumeReclaimPolicy
		}
	}
	if r.Claim.Name == "" {
		return nil, errors.New("the manifest of the PVC is unknown")
	}
	c.refresh(s, r)
	return r, nil
}

// refresh sets in a record what may change until the old PVC is deleted.
func (c *Claim) refresh(s *State, r *Record) {
	if w := s.Workload; w != nil {
		if r.Workload = w.Name(); w.Replicas > 0 {
			r.Replicas = w.Replicas
		}
	}
	if v := c.safety(s); v != nil {
		r.Safety = v.Name
	}
}

// cleaned returns the manifest by which a PVC is created again.
func cleaned(p *corev1.PersistentVolumeClaim) corev1.PersistentVolumeClaim {
	annotations := maps.Clone(p.Annotations)
	maps.DeleteFunc(annotations, func(key, _ string) bool { return strings.HasPrefix(key, "pv.kubernetes.io/") })
	return corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: p.Namespace, Name: p.Name, UID: p.UID, Labels: p.Labels, Annotations: annotations,
		},
		Spec: *p.Spec.DeepCopy(),
	}
}
