// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package rollback

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

const (
	// holdFor is how long a rollback holds snapshots. It renews holds that end within
	// renewAt.
	holdFor = 24 * time.Hour
	renewAt = 12 * time.Hour
	// safetyFor is how old a safety snapshot of an earlier run may be.
	safetyFor = 15 * time.Minute
)

func did(number int, changes []Change, format string, args ...any) *Step {
	return &Step{Number: number, Text: fmt.Sprintf(format, args...), Changes: changes}
}

func wait(number int, on client.Object, format string, args ...any) *Step {
	return &Step{Number: number, Text: fmt.Sprintf(format, args...), For: on}
}

// beginUndo writes the record of an undo first, as its volume exists: the holds of step 1 alone would look like those
// of a rollback that was interrupted.
func beginUndo(s *State, c *Claim) (*Step, error) {
	if c.Target != nil || c.record != nil {
		return nil, nil
	}
	return writeRecord(s, c)
}

// hold is step 1: no snapshot of the PVC is deleted while its series has no PVC.
func hold(s *State, c *Claim) (*Step, error) {
	var changes []Change
	for _, v := range c.backups() {
		if end, held := snapshots.HeldUntil(v); !c.holds(v) || held && end.Sub(s.Now) > renewAt {
			continue
		}
		ours, before := heldBefore(v)
		if hold := v.GetAnnotations()[v1alpha1.AnnotationHold]; hold != ours {
			before = hold
		}
		ours = s.Now.Add(holdFor).UTC().Format(time.RFC3339)
		changes = append(changes, annotate(v, map[string]any{
			v1alpha1.AnnotationHold: ours, v1alpha1.AnnotationHoldBeforeRollback: ours + " " + before,
		}))
	}
	if changes == nil {
		return nil, nil
	}
	return did(1, changes, "Hold %s of PersistentVolumeClaim %s for %s", counted(len(changes)), c.Name, hours(holdFor)), nil
}

// safety returns the snapshot of the data before the rollback; nil if there is none yet.
func (c *Claim) safety(s *State) *snapshotv1.VolumeSnapshot {
	var newest *snapshotv1.VolumeSnapshot
	for _, v := range c.Snapshots {
		mine := c.pvc != nil && v.Annotations[v1alpha1.AnnotationRollbackOf] == string(c.pvc.UID) && v.DeletionTimestamp == nil
		if mine && (!ready(v) || s.Began.Sub(v.CreationTimestamp.Time) < safetyFor) &&
			(newest == nil || newest.CreationTimestamp.Before(&v.CreationTimestamp)) {
			newest = v
		}
	}
	return newest
}

func ready(v *snapshotv1.VolumeSnapshot) bool {
	return v.Status != nil && ptr.Deref(v.Status.ReadyToUse, false)
}

// takeSafety is step 2. Whoever has a rollback undone finds there what it has replaced.
func takeSafety(s *State, c *Claim) (*Step, error) {
	if !c.old() || c.pvc.DeletionTimestamp != nil {
		return nil, nil
	}
	v := c.safety(s)
	switch {
	case v == nil:
		v = c.newSafety(s)
		return did(2, []Change{{Create: v}}, "Take VolumeSnapshot %s of the present data of PersistentVolumeClaim %s", v.Name, c.Name), nil
	case !ready(v):
		why := ""
		if v.Status != nil && v.Status.Error != nil {
			why = ": " + ptr.Deref(v.Status.Error.Message, "its driver reports an error")
		}
		return wait(2, v, "VolumeSnapshot %s is not ready to use%s", v.Name, why), nil
	}
	return nil, nil
}

// restoreTarget is the first half of step 3: a volume with the data of the snapshot.
func restoreTarget(s *State, c *Claim) (*Step, error) {
	p, pod := c.restored, c.consumer(s)
	switch {
	case c.Target == nil || c.record != nil:
		return nil, nil
	case p == nil:
		return did(3, []Change{{Create: c.newRestored()}}, "Restore %s to a new PersistentVolumeClaim %s",
			c.Target.Name, c.Manifest.Name), nil
	case p.DeletionTimestamp != nil:
		return wait(3, p, "PersistentVolumeClaim %s is being deleted", p.Name), nil
	case c.target == nil && c.WaitsForConsumer && pod == nil:
		return did(3, []Change{{Create: c.newConsumer(s)}}, "Start Pod %s, for which its storage class waits", p.Name), nil
	case c.target == nil:
		return wait(3, p, "PersistentVolumeClaim %s is not bound yet", p.Name), nil
	case pod != nil && pod.DeletionTimestamp == nil:
		return did(3, []Change{{Delete: pod}}, "Delete Pod %s", pod.Name), nil
	case pod != nil:
		return wait(3, pod, "Pod %s is being deleted", pod.Name), nil
	}
	return nil, nil
}

// consumer returns the pod that uses the restored PVC, or nil.
func (c *Claim) consumer(s *State) *corev1.Pod {
	if i := slices.IndexFunc(s.Pods, func(p Pod) bool { return c.restored != nil && p.uses(c.restored.Name) }); i >= 0 {
		return s.Pods[i].Pod
	}
	return nil
}

// writeRecord is the second half of step 3. Until the old PVC is deleted, it also
// corrects the record.
func writeRecord(s *State, c *Claim) (*Step, error) {
	if c.record != nil && (!c.old() || s.Scaled) {
		return nil, nil
	}
	r, err := c.newRecord(s)
	if err != nil || c.record != nil && r.Replicas == c.record.Replicas && r.Safety == c.record.Safety && r.Workload == c.record.Workload {
		return nil, err
	}
	change, err := setRecord(c.target, r)
	return did(3, []Change{change}, "Write the manifest of PersistentVolumeClaim %s and the replicas on PersistentVolume %s",
		c.Name, c.target.Name), err
}

func setRecord(v *corev1.PersistentVolume, r *Record) (Change, error) {
	text, err := json.Marshal(r)
	return annotate(v, map[string]any{v1alpha1.AnnotationRollback: string(text)}), err
}

// closeOthers ends a rollback that is undone before it was finished.
func closeOthers(s *State, c *Claim) (*Step, error) {
	for name, r := range c.records {
		if r.Finished == nil && name != c.target.Name {
			closed := *r
			closed.Finished = &metav1.Time{Time: s.Now}
			change, err := setRecord(s.Volumes[name], &closed)
			return did(3, []Change{change}, "Give up the rollback of PersistentVolumeClaim %s to PersistentVolume %s", c.Name, name), err
		}
	}
	return nil, nil
}

// retain is step 4. The next step is not taken before it is read that both volumes
// outlive their PVCs.
func retain(s *State, c *Claim) (*Step, error) {
	if c.moved() {
		return nil, nil
	}
	for _, v := range []*corev1.PersistentVolume{c.target, c.oldVolume(s)} {
		if v != nil && v.Spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimRetain {
			return did(4, []Change{reclaim(v, corev1.PersistentVolumeReclaimRetain)}, "Set the reclaim policy of PersistentVolume %s to Retain",
				v.Name), nil
		}
	}
	return nil, nil
}

// scaleDown is the first half of step 5.
func scaleDown(s *State, c *Claim) (*Step, error) {
	if w := s.Workload; !c.moved() && w != nil && w.Replicas > 0 {
		step := did(5, []Change{scale(w, 0)}, "Scale %s from %d to 0", w.Name(), w.Replicas)
		step.Scales = true
		return step, nil
	}
	return nil, nil
}

// awaitPods is the second half of step 5.
func awaitPods(s *State, c *Claim) (*Step, error) {
	var names []string
	var first client.Object
	for _, p := range s.Pods {
		if c.old() && p.uses(c.Name) {
			names = append(names, p.Name)
			first = p.Pod
		}
	}
	if names == nil {
		return nil, nil
	}
	return wait(5, first, "PersistentVolumeClaim %s is still used by Pod %s", c.Name, strings.Join(names, ", ")), nil
}

// deleteRestored begins step 6: the PVC that the snapshot was restored to lets go of the volume.
func deleteRestored(_ *State, c *Claim) (*Step, error) {
	p := c.restored
	switch {
	case p == nil || c.moved():
		return nil, nil
	case p.DeletionTimestamp == nil:
		return did(6, []Change{{Delete: p}}, "Delete PersistentVolumeClaim %s; its volume stays", p.Name), nil
	}
	return wait(6, p, "PersistentVolumeClaim %s is being deleted", p.Name), nil
}

// reserve reserves the target for the name. It does so before the old PVC is deleted: a
// StatefulSet that creates the PVC again at once gets the restored data, not an empty volume.
func reserve(s *State, c *Claim) (*Step, error) {
	for name := range c.records {
		// Another volume that is reserved for the name would be bound in place of the target.
		if v := s.Volumes[name]; v != c.target && isReserved(v, c.Name) {
			return did(6, []Change{patch(v, nil, map[string]any{"claimRef": map[string]any{"uid": v.UID}})},
				"Reserve PersistentVolume %s no longer for PersistentVolumeClaim %s", v.Name, c.Name), nil
		}
	}
	if c.binding() || c.reserved() {
		return nil, nil
	}
	change := patch(c.target, nil, map[string]any{"claimRef": map[string]any{
		"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": s.Namespace, "name": c.Name, "uid": nil, "resourceVersion": nil,
	}})
	return did(6, []Change{change}, "Reserve PersistentVolume %s for PersistentVolumeClaim %s", c.target.Name, c.Name), nil
}

// reserved returns whether only a PVC of the name can be bound to the target.
func (c *Claim) reserved() bool { return isReserved(c.target, c.Name) }

func isReserved(v *corev1.PersistentVolume, name string) bool {
	ref := v.Spec.ClaimRef
	return ref != nil && ref.Name == name && ref.UID == ""
}

// deleteOld ends step 6.
func deleteOld(_ *State, c *Claim) (*Step, error) {
	switch p := c.pvc; {
	case !c.old():
		return nil, nil
	case p.DeletionTimestamp == nil:
		return did(6, []Change{{Delete: p}}, "Delete PersistentVolumeClaim %s; its volume %s stays", p.Name, c.record.Volume), nil
	default:
		return wait(6, p, "PersistentVolumeClaim %s is being deleted: %s", p.Name, strings.Join(p.Finalizers, ", ")), nil
	}
}

// createClaim is step 7.
func createClaim(_ *State, c *Claim) (*Step, error) {
	switch {
	case c.moved():
		return nil, nil
	case c.pvc == nil:
		return did(7, []Change{{Create: c.newClaim()}}, "Create PersistentVolumeClaim %s with PersistentVolume %s",
			c.Name, c.target.Name), nil
	case c.pvc.DeletionTimestamp != nil:
		return wait(7, c.pvc, "another PersistentVolumeClaim %s is being deleted", c.Name), nil
	}
	return wait(7, c.pvc, "PersistentVolumeClaim %s is not bound to PersistentVolume %s yet", c.Name, c.target.Name), nil
}

// completeClaim gives a PVC that something else has created on the restored volume what
// the old one had, too.
func completeClaim(_ *State, c *Claim) (*Step, error) {
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
	if len(labels)+len(annotations) == 0 {
		return nil, nil
	}
	change := patch(c.pvc, map[string]any{"labels": labels, "annotations": annotations}, nil)
	return did(7, []Change{change}, "Give PersistentVolumeClaim %s the labels and annotations of the old one", c.Name), nil
}

// carryOver is step 8.
func carryOver(_ *State, c *Claim) (*Step, error) {
	var changes []Change
	for _, v := range c.backups() {
		if key := c.keyIn(v); c.keys()[key] && key != c.pvc.UID && v.GetDeletionTimestamp() == nil {
			change, err := c.carriedOver(v)
			if err != nil {
				return nil, err
			}
			changes = append(changes, change)
		}
	}
	if changes == nil {
		return nil, nil
	}
	return did(8, changes, "Carry %s over to the new PersistentVolumeClaim %s", counted(len(changes)), c.Name), nil
}

// dropRestored deletes what the rollback that is undone had restored, if the snapshot still exists.
func dropRestored(s *State, c *Claim) (*Step, error) {
	p, pod := c.restored, c.consumer(s)
	if p == nil || c.Target != nil {
		return nil, nil
	}
	v, r := s.Volumes[p.Spec.VolumeName], c.records[p.Spec.VolumeName]
	if r != nil && v.Spec.PersistentVolumeReclaimPolicy != r.ReclaimPolicy &&
		slices.ContainsFunc(c.Snapshots, func(sn *snapshotv1.VolumeSnapshot) bool {
			return sn.UID == r.SnapshotUID && sn.DeletionTimestamp == nil
		}) {
		return did(9, []Change{reclaim(v, r.ReclaimPolicy)}, "Set the reclaim policy of PersistentVolume %s to %s again",
			v.Name, r.ReclaimPolicy), nil
	}
	switch {
	case pod != nil && pod.DeletionTimestamp == nil:
		return did(9, []Change{{Delete: pod}}, "Delete Pod %s", pod.Name), nil
	case p.DeletionTimestamp == nil:
		return did(9, []Change{{Delete: p}}, "Delete PersistentVolumeClaim %s, which is not needed any more", p.Name), nil
	}
	return wait(9, p, "PersistentVolumeClaim %s is being deleted", p.Name), nil
}

// heldBefore returns the hold that a rollback set, and the one before it; empty if there was none.
func heldBefore(v client.Object) (ours, before string) {
	ours, before, _ = strings.Cut(v.GetAnnotations()[v1alpha1.AnnotationHoldBeforeRollback], " ")
	return ours, before
}

// unhold is the first half of step 9. Every series is carried over.
func unhold(s *State, c *Claim) (*Step, error) {
	var changes []Change
	for _, v := range c.backups() {
		ours, before := heldBefore(v)
		if ours == "" || v.GetDeletionTimestamp() != nil || c.heldForOthers(s, v) {
			continue
		}
		annotations := map[string]any{v1alpha1.AnnotationHoldBeforeRollback: nil}
		// Another hold was set by somebody else meanwhile.
		if v.GetAnnotations()[v1alpha1.AnnotationHold] == ours {
			annotations[v1alpha1.AnnotationHold] = nil
			if before != "" {
				annotations[v1alpha1.AnnotationHold] = before
			}
		}
		changes = append(changes, annotate(v, annotations))
	}
	if changes == nil {
		return nil, nil
	}
	return did(9, changes, "End the holds of %s of PersistentVolumeClaim %s", counted(len(changes)), c.Name), nil
}

// giveBack is the second half of step 9. The volume with the data before the rollback keeps Retain.
func giveBack(_ *State, c *Claim) (*Step, error) {
	if policy := c.record.ReclaimPolicy; c.target.Spec.PersistentVolumeReclaimPolicy != policy {
		return did(9, []Change{reclaim(c.target, policy)}, "Set the reclaim policy of PersistentVolume %s to %s again",
			c.target.Name, policy), nil
	}
	return nil, nil
}

// scaleUp is step 10.
func scaleUp(s *State, _ *Claim) (*Step, error) {
	w, replicas := s.Workload, s.replicas()
	if w == nil || w.Replicas > 0 || replicas == 0 {
		return nil, nil
	}
	return did(10, []Change{scale(w, replicas)}, "Scale %s to %d", w.Name(), replicas), nil
}

// finish ends the record, which stays to say what was done.
func finish(s *State, c *Claim) (*Step, error) {
	r := *c.record
	r.Finished = &metav1.Time{Time: s.Now}
	change, err := setRecord(c.target, &r)
	return did(10, []Change{change}, "Note on PersistentVolume %s that the rollback of PersistentVolumeClaim %s is finished",
		c.target.Name, c.Name), err
}
