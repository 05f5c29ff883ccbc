// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/cli/change"
	"mapcontroller.dev/snapshotschedule/internal/retention"
)

const (
	// safetyFor is how old a safety snapshot of an earlier run may be.
	safetyFor = 15 * time.Minute
	// cutWithin is how long a safety snapshot may take until it is cut. Errors that it has in the first errorsFor pass.
	cutWithin = 30 * time.Minute
	errorsFor = 2 * time.Minute
	// readyWithin is how long another snapshot may take: the default of spec.readyDeadline.
	readyWithin = time.Hour
)

func did(changes []change.Change, format string, args ...any) *Step {
	return &Step{Text: fmt.Sprintf(format, args...), Changes: changes}
}

func wait(on client.Object, format string, args ...any) *Step {
	return &Step{Text: fmt.Sprintf(format, args...), For: on}
}

// driversWords returns the error of a snapshot, after a colon.
func driversWords(v *snapshotv1.VolumeSnapshot) string {
	if text := backup.DriverError(v); text != "" {
		return ": " + text
	}
	return ""
}

// awaitBinding lets a PVC that the undone rollback has created be bound: only then is it known by its volume.
func awaitBinding(s *State, c *Claim) (*Step, error) {
	if !c.comes(s) {
		return nil, nil
	}
	return wait(c.pvc, "PersistentVolumeClaim %s is not bound to PersistentVolume %s yet", c.Name, c.base.on.Name), nil
}

// safety returns the snapshot of the data before the rollback; nil if there is none yet. Once the workload is scaled to 0, an
// old one is as good as a new one.
func (c *Claim) safety(s *State) *snapshotv1.VolumeSnapshot {
	var newest *snapshotv1.VolumeSnapshot
	down := c.record != nil && s.Workload != nil && s.Workload.Replicas == 0
	for _, v := range c.Safeties {
		mine := v.Labels[v1alpha1.LabelRollback] == s.lock.ID && v.DeletionTimestamp == nil
		if mine && (!backup.ReadyToUse(v) || down || s.Began.Sub(v.CreationTimestamp.Time) < safetyFor) &&
			(newest == nil || newest.CreationTimestamp.Before(&v.CreationTimestamp)) {
			newest = v
		}
	}
	return newest
}

// safetiesOf returns the names of the safety snapshots of a rollback.
func (c *Claim) safetiesOf(id string) (names []string) {
	for _, v := range c.Safeties {
		if v.Labels[v1alpha1.LabelRollback] == id && v.DeletionTimestamp == nil {
			names = append(names, v.Name)
		}
	}
	return names
}

// takeSafety is step 2. It lets --undo recover the data that the rollback replaced.
func takeSafety(s *State, c *Claim) (*Step, error) {
	if !c.old() || c.pvc.DeletionTimestamp != nil || s.SkipSafety {
		return nil, nil
	}
	for _, v := range c.Safeties { // of another rollback, which nobody ended
		if backup.Uncut(v) && v.DeletionTimestamp == nil && v.Labels[v1alpha1.LabelRollback] != s.lock.ID {
			return did([]change.Change{{Delete: v}}, "Delete VolumeSnapshot %s of an earlier rollback, which was not cut", v.Name), nil
		}
	}
	v := c.safety(s)
	switch {
	case v == nil:
		v = c.newSafety(s)
		return did([]change.Change{{Create: v}}, "Take VolumeSnapshot %s of the present data of PersistentVolumeClaim %s", v.Name, c.Name), nil
	case backup.ReadyToUse(v):
		return nil, nil
	}
	failed := backup.DriverError(v) != ""
	if age := s.Now.Sub(v.CreationTimestamp.Time); failed && age >= errorsFor || backup.Uncut(v) && age >= cutWithin {
		step := did([]change.Change{{Delete: v}}, "Delete VolumeSnapshot %s, which the storage did not take", v.Name)
		step.Ends = fmt.Errorf("VolumeSnapshot %s of the present data was not ready after %s%s; "+
			"with --skip-safety-snapshot, PersistentVolume %s is the only copy of that data",
			v.Name, age.Truncate(time.Second), driversWords(v), c.pvc.Spec.VolumeName)
		return step, nil
	}
	return wait(v, "VolumeSnapshot %s is not ready to use%s", v.Name, driversWords(v)), nil
}

// restoreTarget is the first half of step 3: a volume with the data of the snapshot.
func restoreTarget(s *State, c *Claim) (*Step, error) {
	p, pod := c.restored, c.consumer(s)
	switch {
	case s.lock.Undo != "" || c.record != nil:
		return nil, nil
	case p == nil && s.PVCs[RestoredName(c.Name, s.lock.ID)] != nil:
		return nil, fmt.Errorf("PersistentVolumeClaim %s exists, and rollback %s has not created it: delete it first",
			RestoredName(c.Name, s.lock.ID), s.lock.ID)
	case p == nil:
		return did([]change.Change{{Create: c.newRestored(s)}}, "Restore %s to a new PersistentVolumeClaim %s",
			c.Target.Name, RestoredName(c.Name, s.lock.ID)), nil
	case p.DeletionTimestamp != nil:
		return wait(p, "PersistentVolumeClaim %s is being deleted", p.Name), nil
	case c.target == nil && c.WaitsForConsumer && pod == nil:
		return did([]change.Change{{Create: c.newConsumer(s)}}, "Start Pod %s, for which its storage class waits", p.Name), nil
	case c.target == nil:
		return wait(p, "PersistentVolumeClaim %s is not bound yet", p.Name), nil
	case pod != nil && pod.DeletionTimestamp == nil:
		return did([]change.Change{{Delete: pod}}, "Delete Pod %s", pod.Name), nil
	case pod != nil:
		return wait(pod, "Pod %s is being deleted", pod.Name), nil
	}
	return nil, nil
}

// consumer returns the pod that uses the restored PVC, or nil.
func (c *Claim) consumer(s *State) *corev1.Pod {
	if i := slices.IndexFunc(s.Pods, func(p Pod) bool { return c.restored != nil && p.uses(c.restored.Name) }); i >= 0 {
		return s.Pods[i].Object
	}
	return nil
}

// writeRecord is the second half of step 3.
func writeRecord(s *State, c *Claim) (*Step, error) {
	if c.record != nil {
		return nil, nil
	}
	r, err := c.newRecord(s)
	if err != nil {
		return nil, fmt.Errorf("PersistentVolumeClaim %s: %w", c.Name, err)
	}
	return did([]change.Change{setRecord(c.target, r)}, "Write the manifest of PersistentVolumeClaim %s on PersistentVolume %s",
		c.Name, c.target.Name), nil
}

// closeBase ends a rollback that is undone before it was finished.
func closeBase(s *State, c *Claim) (*Step, error) {
	if c.base == nil || c.base.Finished != nil {
		return nil, nil
	}
	r := *c.base
	r.Finished, r.GivenUp = &metav1.Time{Time: s.Now}, true
	return did([]change.Change{setRecord(r.on, &r)}, "Give up rollback %s of PersistentVolumeClaim %s to PersistentVolume %s",
		r.ID, c.Name, r.on.Name), nil
}

// retain is step 4. The next step is not taken before it is read that both volumes
// outlive their PVCs.
func retain(s *State, c *Claim) (*Step, error) {
	if c.moved() {
		return nil, nil
	}
	for _, v := range []*corev1.PersistentVolume{c.target, c.oldVolume(s)} {
		if v != nil && v.Spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimRetain {
			return did([]change.Change{reclaim(v, corev1.PersistentVolumeReclaimRetain)},
				"Set the reclaim policy of PersistentVolume %s to Retain", v.Name), nil
		}
	}
	return nil, nil
}

// awaitSnapshots begins step 5. The snapshot controller keeps a PVC while any snapshot of it is not ready.
func awaitSnapshots(_ *State, c *Claim) (*Step, error) {
	if !c.old() || c.pvc.DeletionTimestamp != nil {
		return nil, nil
	}
	var first *snapshotv1.VolumeSnapshot
	for _, v := range slices.Concat(c.Snapshots, c.Safeties) {
		if c.keptBy(v) {
			first = cmp.Or(first, v)
		}
	}
	switch {
	case first == nil:
		return nil, nil
	case first.DeletionTimestamp != nil:
		return wait(first, "VolumeSnapshot %s, which is not ready, is being deleted", first.Name), nil
	}
	return wait(first, "VolumeSnapshot %s, which would keep PersistentVolumeClaim %s from being deleted, is not ready to use%s",
		first.Name, c.Name, driversWords(first)), nil
}

// keptBy returns whether a snapshot keeps the PVC from being deleted.
func (c *Claim) keptBy(v *snapshotv1.VolumeSnapshot) bool {
	return backup.ClaimName(v) == c.Name && !backup.ReadyToUse(v)
}

// refuseSnapshots names a snapshot that has failed and keeps the PVC from being deleted.
func (c *Claim) refuseSnapshots(s *State) error {
	for _, v := range c.Snapshots {
		if c.old() && c.keptBy(v) && backup.StateOf(v, s.Now, readyWithin) == retention.Failed {
			return fmt.Errorf("VolumeSnapshot %s has failed%s, and keeps the PVC from being deleted: delete it first",
				v.Name, driversWords(v))
		}
	}
	return nil
}

// scaleDown is the second part of step 5.
func scaleDown(s *State, c *Claim) (*Step, error) {
	if w := s.Workload; !c.moved() && w != nil && w.Replicas > 0 {
		step := did([]change.Change{scale(w, 0)}, "Scale %s from %d to 0", w.Name(), w.Replicas)
		step.Scales = true
		return step, nil
	}
	return nil, nil
}

// awaitPods ends step 5.
func awaitPods(s *State, c *Claim) (*Step, error) {
	var names []string
	var first client.Object
	for _, p := range s.Pods {
		if c.old() && p.uses(c.Name) {
			names = append(names, p.Object.Name)
			first = p.Object
		}
	}
	if names == nil {
		return nil, nil
	}
	return wait(first, "PersistentVolumeClaim %s is still used by Pod %s", c.Name, strings.Join(names, ", ")), nil
}
