// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"encoding/json"
	"fmt"
	"time"

	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/cli/change"
	"mapcontroller.dev/snapshotschedule/internal/cli/holders"
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
		return backup.ClaimsOf(v)[c.Name]
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
	return o.GetDeletionTimestamp() == nil && !backup.Uncut(o) && !c.stays && (series || !c.moved() && c.isTarget(o))
}

func (c *Claim) isTarget(o client.Object) bool { return c.Target != nil && o.GetUID() == c.Target.UID }

// hold is step 1: no snapshot of the PVC is deleted while its series has no PVC.
func hold(s *State, c *Claim) (*Step, error) {
	changes, err := c.holding(s, s.Now.Add(holders.RenewWithin), s.Now.Add(holders.For))
	if changes == nil {
		return nil, err
	}
	return did(changes, "Hold %s of PersistentVolumeClaim %s for %s", counted(len(changes)), c.Name, hours(holders.For)), err
}

// holdOn is done just before step 5: from then on, only step 9 or an undo ends the holds.
func holdOn(s *State, c *Claim) (*Step, error) {
	changes, err := c.holding(s, holders.Forever.Add(-1), holders.Forever)
	if changes == nil {
		return nil, err
	}
	return did(changes, "Hold %s of PersistentVolumeClaim %s until it has moved", counted(len(changes)), c.Name), err
}

// holding returns the changes that hold backups until a time, unless the rollback holds them for longer than another one.
func (c *Claim) holding(s *State, least, end time.Time) (changes []change.Change, err error) {
	name := holders.OfRollback(s.lock.ID)
	for _, v := range c.backups() {
		if !c.holds(v) {
			continue
		}
		annotations, err := holders.Hold(v, name, least, end, s.Now)
		if err != nil {
			return nil, fmt.Errorf("hold %s: %w", v.GetName(), err)
		}
		if annotations != nil {
			changes = append(changes, change.Annotate(v, annotations))
		}
	}
	return changes, nil
}

// unhold ends step 9. Every series is carried over. The snapshot that was gone back to stays for another 24 h:
// what has spoiled its data once may do so again.
func unhold(s *State, c *Claim) (*Step, error) {
	var changes []change.Change
	for _, v := range c.backups() {
		held, err := c.unheld(s, v)
		if err != nil {
			return nil, fmt.Errorf("hold %s: %w", v.GetName(), err)
		}
		if held != nil && held.Changes(v) != nil && v.GetDeletionTimestamp() == nil {
			changes = append(changes, change.Annotate(v, held.Changes(v)))
		}
	}
	if changes == nil {
		return nil, nil
	}
	return did(changes, "End the holds of %s of PersistentVolumeClaim %s", counted(len(changes)), c.Name), nil
}

// unheld returns who holds a backup after the rollback; nil if that does not change.
func (c *Claim) unheld(s *State, v client.Object) (*holders.Holders, error) {
	held := holders.Of(v)
	name, undone := holders.OfRollback(s.lock.ID), holders.OfRollback(s.lock.Undo)
	end := held.Until(name)
	switch unfinished := c.base == nil || c.base.Finished == nil || c.base.GivenUp; {
	case s.lock.Undo == "" && c.isTarget(v):
		if !end.IsZero() && !end.Equal(holders.Forever) {
			return nil, nil
		}
		held, err := held.Shortened(name, s.Now.Add(holders.For), s.Now)
		return &held, err
	case s.lock.Undo != "" && unfinished && !held.Until(undone).IsZero():
		held = held.Without(undone)
	case end.IsZero():
		return nil, nil
	}
	held = held.Without(name)
	return &held, nil
}

// carriedOver returns the patch that makes an object the backup of the new PVC.
func (c *Claim) carriedOver(o client.Object) (change.Change, error) {
	v, isGroup := o.(*groupv1.VolumeGroupSnapshot)
	if !isGroup {
		return change.Patch(o, map[string]any{"labels": map[string]any{v1alpha1.LabelMapKey: c.pvc.UID}}, nil), nil
	}
	record := backup.ClaimsOf(v)
	record[c.Name] = c.pvc.UID
	text, err := json.Marshal(record)
	return change.Annotate(o, map[string]any{v1alpha1.AnnotationClaims: string(text)}), err
}
