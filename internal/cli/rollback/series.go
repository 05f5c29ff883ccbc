// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package rollback

import (
	"encoding/json"
	"slices"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// backups are the snapshots and group snapshots of the PVC.
func (c *Claim) backups() (all []client.Object) {
	for _, v := range c.Snapshots {
		all = append(all, v)
	}
	for _, v := range c.Groups {
		all = append(all, v)
	}
	return all
}

// keyIn returns the UID of the PVC of this name whose backup an object is, as its map key or, for a group
// snapshot, its record says.
func (c *Claim) keyIn(o client.Object) types.UID {
	if v, isGroup := o.(*groupv1.VolumeGroupSnapshot); isGroup {
		return snapshots.ClaimsOf(v)[c.Name]
	}
	return types.UID(o.GetLabels()[v1alpha1.LabelMapKey])
}

// keys returns the UIDs of the PVCs whose backups are carried over.
func (c *Claim) keys() map[types.UID]bool {
	keys := map[types.UID]bool{}
	if c.pvc != nil && c.old() {
		keys[c.pvc.UID] = true
	}
	for _, r := range []*Record{c.record, c.base} {
		if r != nil {
			for _, key := range r.MapKeys {
				keys[key] = true
			}
		}
	}
	return keys
}

// holds returns whether a backup must stay: it is the target, or of a series whose PVC is deleted. An uncut one
// has no data, and held it would keep its PVC from being deleted for as long.
func (c *Claim) holds(o client.Object) bool {
	key := c.keyIn(o)
	series := c.keys()[key] && (!c.moved() || key != c.pvc.UID)
	target := !c.moved() && c.Target != nil && o.GetUID() == c.Target.UID
	return o.GetDeletionTimestamp() == nil && !uncut(o) && (series || target)
}

// heldForOthers returns whether a backup is also one of another PVC, which an unfinished rollback has taken away: a group
// snapshot. That rollback ends the hold.
func (c *Claim) heldForOthers(s *State, o client.Object) bool {
	v, isGroup := o.(*groupv1.VolumeGroupSnapshot)
	if !isGroup {
		return false
	}
	record := snapshots.ClaimsOf(v)
	return slices.ContainsFunc(s.unfinished(), func(r *Record) bool {
		return r.Claim.Name != c.Name && slices.Contains(r.MapKeys, record[r.Claim.Name])
	})
}

func uncut(o client.Object) bool {
	switch v := o.(type) {
	case *groupv1.VolumeGroupSnapshot:
		return v.Spec.Source.VolumeGroupSnapshotContentName == nil && (v.Status == nil || v.Status.CreationTime == nil)
	case *snapshotv1.VolumeSnapshot:
		return v.Spec.Source.VolumeSnapshotContentName == nil && !ready(v) && (v.Status == nil || v.Status.CreationTime == nil)
	}
	return false
}

// carriedOver returns the patch that makes an object the backup of the new PVC.
func (c *Claim) carriedOver(o client.Object) (Change, error) {
	v, isGroup := o.(*groupv1.VolumeGroupSnapshot)
	if !isGroup {
		return patch(o, map[string]any{"labels": map[string]any{v1alpha1.LabelMapKey: c.pvc.UID}}, nil), nil
	}
	record := snapshots.ClaimsOf(v)
	record[c.Name] = c.pvc.UID
	text, err := json.Marshal(record)
	return annotate(o, map[string]any{v1alpha1.AnnotationClaims: string(text)}), err
}
