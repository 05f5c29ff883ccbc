// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// refuse returns what stops a rollback, all of it. Once every PVC has its data, nothing does.
func (s *State) refuse() error {
	var errs []error
	for _, c := range s.Claims {
		if c.done || c.stays || c.moved() {
			continue
		}
		if errs == nil {
			errs = append(errs, s.refuseWorkload())
		}
		if err := errors.Join(c.refuse(s), c.refuseVolumes(s), s.refusePods(c)); err != nil {
			errs = append(errs, fmt.Errorf("PersistentVolumeClaim %s: %w", c.Name, err))
		}
	}
	return errors.Join(errs...)
}

func (s *State) refuseWorkload() error {
	w := s.Workload
	if w == nil {
		return nil
	}
	if owner := metav1.GetControllerOf(w.Object); owner != nil {
		return fmt.Errorf("%s is controlled by %s %s, which may scale it up again: stop that first, or roll back what it offers for that",
			w.Name(), owner.Kind, owner.Name)
	}
	if set, ok := w.Object.(*appsv1.StatefulSet); ok {
		policy := set.Spec.PersistentVolumeClaimRetentionPolicy
		if retain := appsv1.RetainPersistentVolumeClaimRetentionPolicyType; policy != nil && cmp.Or(policy.WhenScaled, retain) != retain {
			return fmt.Errorf("%s deletes its PVCs when it is scaled down: "+
				"set its spec.persistentVolumeClaimRetentionPolicy.whenScaled to Retain first", w.Name())
		}
	}
	if s.Scaled && w.Replicas > 0 {
		return fmt.Errorf("%s was scaled to 0, and %s has scaled it up to %d again: stop that first, then run the command again",
			w.Name(), scaledBy(w.Object), w.Replicas)
	}
	return nil
}

// scaledBy returns the field manager that last set the replicas of a workload.
func scaledBy(o client.Object) string {
	manager, at := "something", metav1.Time{}
	for _, entry := range o.GetManagedFields() {
		var fields struct {
			Spec map[string]any `json:"f:spec"`
		}
		if entry.FieldsV1 == nil || json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields) != nil || entry.Time == nil || entry.Time.Before(&at) {
			continue
		}
		if _, sets := fields.Spec["f:replicas"]; sets {
			manager, at = "field manager "+entry.Manager, *entry.Time
		}
	}
	return manager
}

// refuse returns why a PVC can't be rolled back.
func (c *Claim) refuse(s *State) error {
	p := c.pvc
	if p == nil {
		if c.record == nil && c.base == nil {
			return errors.New("it does not exist: restore it under its name with 'restore --pvc'") // which may be any text
		}
		return nil
	}
	if owner := metav1.GetControllerOf(p); owner != nil && (s.Workload == nil || owner.UID != s.Workload.Object.GetUID()) {
		return fmt.Errorf("it is controlled by %s %s, which may not accept another one in its place", owner.Kind, owner.Name)
	}
	return c.refuseState(s, p)
}

// refuseState returns why the rollback of a PVC, as it is now, can't begin or go on.
func (c *Claim) refuseState(s *State, p *corev1.PersistentVolumeClaim) error {
	begun := c.record != nil || c.base != nil
	switch {
	case !begun && p.DeletionTimestamp != nil:
		return errors.New("it is being deleted")
	case !begun && s.bound(p) == nil:
		return errors.New("it is not bound to a volume")
	case begun && !c.old():
		return c.refuseForeign(s, p)
	case s.Own == nil && s.lock.Step == 0 && c.Full != "" && !s.SkipSafety:
		return fmt.Errorf("the storage takes no snapshot of the present data: %s; delete one first, or set --skip-safety-snapshot: "+
			"then PersistentVolume %s is the only copy of that data", c.Full, p.Spec.VolumeName)
	case s.lock.Undo == "" && c.target == nil && c.restored == nil:
		return errors.Join(c.refuseSnapshots(s), c.refuseTarget())
	}
	return c.refuseSnapshots(s)
}

// refuseForeign returns an error for a PVC that has appeared under the name, unless it
// is bound to the target, the volume binder is going to bind it to that or to what is undone, or it is being deleted.
func (c *Claim) refuseForeign(s *State, p *corev1.PersistentVolumeClaim) error {
	if c.binding(s, c.target) || c.comes(s) || p.DeletionTimestamp != nil {
		return nil
	}
	manager := "something"
	if len(p.ManagedFields) > 0 {
		manager = "field manager " + p.ManagedFields[0].Manager
	}
	return fmt.Errorf("%s has created another PVC of this name meanwhile, with volume %q instead of %s, which has the restored data. "+
		"Nothing is scaled up. If it holds nothing that you need, delete it, and run the command again: kubectl delete pvc %s -n %s",
		manager, p.Spec.VolumeName, c.target.Name, c.Name, p.Namespace)
}

func (c *Claim) refuseTarget() error {
	for _, v := range c.Snapshots {
		if v.UID == c.Target.UID && v.DeletionTimestamp == nil {
			return c.Unrestorable
		}
	}
	return fmt.Errorf("VolumeSnapshot %s has been deleted", c.Target.Name)
}

// refuseVolumes returns an error while both volumes are in use and one is about to vanish.
func (c *Claim) refuseVolumes(s *State) error {
	for _, v := range []*corev1.PersistentVolume{c.target, c.oldVolume(s)} {
		switch {
		case v == nil:
		case v.DeletionTimestamp != nil:
			return fmt.Errorf("PersistentVolume %s is being deleted, which nothing can undo: its data would be lost with its PVC", v.Name)
		case !s.ours(v, c.Name):
			return fmt.Errorf("PersistentVolume %s was given to PersistentVolumeClaim %s in namespace %s: it no longer has the data of %s",
				v.Name, v.Spec.ClaimRef.Name, v.Spec.ClaimRef.Namespace, c.Name)
		}
	}
	return nil
}

// ours returns whether a volume is part of the rollback of a PVC: nothing else has a claim to it.
func (s *State) ours(v *corev1.PersistentVolume, claim string) bool {
	ref := v.Spec.ClaimRef
	return ref == nil || ref.Namespace == s.Namespace &&
		slices.Contains([]string{claim, RestoredName(claim, s.lock.ID), RestoredName(claim, s.lock.Undo)}, ref.Name)
}

// refusePods returns an error if a pod that is not the workload's uses the PVC.
func (s *State) refusePods(c *Claim) error {
	if !c.old() {
		return nil
	}
	var names []string
	for _, p := range s.Pods {
		if !p.uses(c.Name) || s.Workload != nil && p.Owner != nil && p.Owner.UID == s.Workload.Object.GetUID() {
			continue
		}
		name := "Pod " + p.Object.Name
		if p.Owner != nil {
			name += " of " + p.Owner.Kind + " " + p.Owner.Name
		}
		if p.Object.Status.Phase == corev1.PodSucceeded || p.Object.Status.Phase == corev1.PodFailed {
			name += ", which has ended"
		}
		names = append(names, name)
	}
	if names == nil {
		return nil
	}
	return fmt.Errorf("it is used by %s, which rollback does not stop: delete it first", strings.Join(names, ", and by "))
}
