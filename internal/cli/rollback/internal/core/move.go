// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"slices"
	"strings"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/cli/change"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// deleteRestored begins step 6: the PVC that the snapshot was restored to lets go of the volume.
func deleteRestored(s *State, c *Claim) (*Step, error) {
	p := c.restored
	switch {
	case p == nil || s.lock.Undo != "":
		return nil, nil
	case p.DeletionTimestamp == nil && s.bound(p) != nil && s.bound(p).UID != c.target.UID: // somebody else's
		return nil, nil
	case p.DeletionTimestamp == nil:
		return did([]change.Change{{Delete: p}}, "Delete PersistentVolumeClaim %s; its volume stays", p.Name), nil
	}
	return wait(p, "PersistentVolumeClaim %s is being deleted", p.Name), nil
}

// unreserve lets go of another volume that is reserved for the name: it would be bound in place of the target.
func unreserve(s *State, c *Claim) (*Step, error) {
	for _, r := range s.recordsOf(c.Name) {
		if v := r.on; (c.target == nil || v.UID != c.target.UID) && s.isReserved(v, c.Name) {
			return did([]change.Change{change.Patch(v, nil, map[string]any{"claimRef": map[string]any{"uid": v.UID}})},
				"Reserve PersistentVolume %s no longer for PersistentVolumeClaim %s", v.Name, c.Name), nil
		}
	}
	return nil, nil
}

// reserve reserves the target for the name. It does so before the old PVC is deleted: a
// StatefulSet that creates the PVC again at once gets the restored data, not an empty volume.
func reserve(s *State, c *Claim) (*Step, error) {
	if c.binding(s, c.target) || s.isReserved(c.target, c.Name) {
		return nil, nil
	}
	one := change.Patch(c.target, nil, map[string]any{"claimRef": map[string]any{
		"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": s.Namespace, "name": c.Name, "uid": nil, "resourceVersion": nil,
	}})
	return did([]change.Change{one}, "Reserve PersistentVolume %s for PersistentVolumeClaim %s", c.target.Name, c.Name), nil
}

// isReserved returns whether only a PVC of the name can be bound to a volume.
func (s *State) isReserved(v *corev1.PersistentVolume, name string) bool {
	ref := v.Spec.ClaimRef
	return ref != nil && ref.Namespace == s.Namespace && ref.Name == name && ref.UID == ""
}

// deleteOld ends step 6.
func deleteOld(_ *State, c *Claim) (*Step, error) {
	switch p := c.pvc; {
	case !c.old():
		return nil, nil
	case p.DeletionTimestamp == nil:
		return did([]change.Change{{Delete: p}}, "Delete PersistentVolumeClaim %s; its volume %s stays", p.Name, c.record.Volume), nil
	default:
		return wait(p, "PersistentVolumeClaim %s is being deleted: %s", p.Name, strings.Join(p.Finalizers, ", ")), nil
	}
}

// completeClaim begins step 7: it gives a PVC that something else has created on the restored volume what the old one had, too. Until all
// PVCs have moved, no schedule selects it.
func completeClaim(s *State, c *Claim) (*Step, error) {
	if !c.moved() {
		return nil, nil
	}
	missing := func(want, has map[string]string) map[string]any {
		add := map[string]any{}
		for key, value := range want {
			if _, ok := has[key]; !ok {
				add[key] = value
			}
		}
		return add
	}
	labels, annotations := missing(c.record.Claim.Labels, c.pvc.Labels), missing(c.record.Claim.Annotations, c.pvc.Annotations)
	if !snapshots.Excluded(c.pvc) && s.moving() {
		annotations[v1alpha1.AnnotationExclude] = ExcludedBy(s.lock.ID)
	}
	if len(labels)+len(annotations) == 0 {
		return nil, nil
	}
	one := change.Patch(c.pvc, map[string]any{"labels": labels, "annotations": annotations}, nil)
	return did([]change.Change{one}, "Give PersistentVolumeClaim %s the labels and annotations of the old one", c.Name), nil
}

// moving returns whether a PVC has not moved with its snapshots yet.
func (s *State) moving() bool {
	return slices.ContainsFunc(s.Claims, func(c *Claim) bool {
		return !c.done && !c.stays && (!c.moved() || slices.ContainsFunc(c.backups(), c.staysBehind))
	})
}

// createClaim ends step 7.
func createClaim(s *State, c *Claim) (*Step, error) {
	switch {
	case c.moved():
		return nil, nil
	case c.pvc == nil:
		return did([]change.Change{{Create: c.newClaim(s)}}, "Create PersistentVolumeClaim %s with PersistentVolume %s",
			c.Name, c.target.Name), nil
	case c.pvc.DeletionTimestamp != nil:
		return wait(c.pvc, "another PersistentVolumeClaim %s is being deleted", c.Name), nil
	}
	return wait(c.pvc, "PersistentVolumeClaim %s is not bound to PersistentVolume %s yet", c.Name, c.target.Name), nil
}

// carryOver is step 8.
func carryOver(_ *State, c *Claim) (*Step, error) {
	var changes []change.Change
	for _, v := range c.backups() {
		if c.staysBehind(v) {
			one, err := c.carriedOver(v)
			if err != nil {
				return nil, err
			}
			changes = append(changes, one)
		}
	}
	if changes == nil {
		return nil, nil
	}
	return did(changes, "Carry %s over to the new PersistentVolumeClaim %s", counted(len(changes)), c.Name), nil
}

// staysBehind returns whether a backup has to be carried over to the new PVC.
func (c *Claim) staysBehind(v client.Object) bool {
	key := c.keyIn(v)
	return c.keys()[key] && key != c.pvc.UID && v.GetDeletionTimestamp() == nil
}

// include ends step 8, once every PVC has moved with its series: a schedule of a group would take half of it before that. No hold ends
// before it is read that schedules select the PVCs again.
func include(s *State, c *Claim) (*Step, error) {
	value, is := c.pvc.Annotations[v1alpha1.AnnotationExclude]
	if !is || value != ExcludedBy(s.lock.ID) && (s.lock.Undo == "" || value != ExcludedBy(s.lock.Undo)) {
		return nil, nil
	}
	var before any
	if value, is := c.record.Claim.Annotations[v1alpha1.AnnotationExclude]; is {
		before = value
	}
	return did([]change.Change{change.Annotate(c.pvc, map[string]any{v1alpha1.AnnotationExclude: before})},
		"Let schedules select PersistentVolumeClaim %s again", c.Name), nil
}

// giveBack begins step 9. The volume with the data before the rollback keeps Retain. What it was before, the record on a restored
// volume says, which may be deleted afterwards.
func giveBack(_ *State, c *Claim) (*Step, error) {
	policy := corev1.PersistentVolumeReclaimPolicy("")
	switch {
	case c.stays && c.base != nil:
		policy = c.base.VolumeReclaimPolicy
	case !c.stays:
		policy = c.record.ReclaimPolicy
	}
	if policy != "" && c.target != nil && c.target.Spec.PersistentVolumeReclaimPolicy != policy {
		return did([]change.Change{reclaim(c.target, policy)}, "Set the reclaim policy of PersistentVolume %s to %s again",
			c.target.Name, policy), nil
	}
	return nil, nil
}

// dropSafeties deletes safety snapshots that hold no data when a rollback is undone.
func dropSafeties(s *State, c *Claim) (*Step, error) {
	for _, v := range c.Safeties {
		if s.lock.Undo != "" && backup.Uncut(v) && v.DeletionTimestamp == nil {
			return did([]change.Change{{Delete: v}}, "Delete VolumeSnapshot %s, which was not cut", v.Name), nil
		}
	}
	return nil, nil
}

// dropRestored deletes what the rollback that is undone had restored, if the snapshot still exists. Otherwise only the PVC goes, and
// the volume, with the only copy of that data, stays.
func dropRestored(s *State, c *Claim) (*Step, error) {
	p, pod := c.restored, c.consumer(s)
	if p == nil || s.lock.Undo == "" {
		return nil, nil
	}
	if v := s.bound(p); v != nil && p.DeletionTimestamp == nil {
		want := corev1.PersistentVolumeReclaimRetain
		if s.exists(c, s.lock.Goal(c.Name).SnapshotUID) && !s.kept(v) {
			if want = v.Spec.PersistentVolumeReclaimPolicy; c.base != nil && c.base.on.UID == v.UID {
				want = c.base.ReclaimPolicy
			}
		}
		if v.Spec.PersistentVolumeReclaimPolicy != want {
			return did([]change.Change{reclaim(v, want)}, "Set the reclaim policy of PersistentVolume %s to %s", v.Name, want), nil
		}
	}
	switch {
	case pod != nil && pod.DeletionTimestamp == nil:
		return did([]change.Change{{Delete: pod}}, "Delete Pod %s", pod.Name), nil
	case p.DeletionTimestamp == nil:
		return did([]change.Change{{Delete: p}}, "Delete PersistentVolumeClaim %s, which is not needed any more", p.Name), nil
	}
	return wait(p, "PersistentVolumeClaim %s is being deleted", p.Name), nil
}

// exists returns whether a snapshot exists and stays.
func (s *State) exists(c *Claim, uid types.UID) bool {
	return slices.ContainsFunc(c.Snapshots, func(v *snapshotv1.VolumeSnapshot) bool {
		return v.UID == uid && backup.Ready(v)
	})
}

// kept returns whether a record says that a volume stays, with data that was replaced.
func (s *State) kept(v *corev1.PersistentVolume) bool {
	for _, records := range s.records {
		for _, r := range records {
			if r.VolumeUID == v.UID {
				return true
			}
		}
	}
	return false
}

// scaleUp is step 10. A workload that was at 0 stays there.
func scaleUp(s *State, _ *Claim) (*Step, error) {
	w, replicas := s.Workload, s.lock.Replicas
	if w == nil || w.Replicas > 0 || replicas == 0 {
		return nil, nil
	}
	return did([]change.Change{scale(w, replicas)}, "Scale %s to %d", w.Name(), replicas), nil
}

// finish ends the record, which stays to say what was done.
func finish(s *State, c *Claim) (*Step, error) {
	if c.record.Finished != nil {
		return nil, nil
	}
	r := *c.record
	r.Finished = &metav1.Time{Time: s.Now}
	return did([]change.Change{setRecord(c.target, &r)},
		"Note on PersistentVolume %s that the rollback of PersistentVolumeClaim %s is finished", c.target.Name, c.Name), nil
}
