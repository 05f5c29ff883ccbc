// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"fmt"
	"slices"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// Finalizers of the garbage collector.
const (
	FinalizerOrphan     = metav1.FinalizerOrphanDependents
	FinalizerForeground = metav1.FinalizerDeleteDependents
)

// Create stores a copy of an object, and returns what was stored.
func (s *Server) Create(o client.Object, request int) (client.Object, error) {
	k, err := KindOf(o)
	if err != nil {
		return nil, err
	}
	if err := s.mayCreate(k, o); err != nil {
		return nil, err
	}
	o = clone(o)
	o.SetUID(s.NewUID())
	o.SetCreationTimestamp(s.stamp())
	o.SetDeletionTimestamp(nil)
	o.SetDeletionGracePeriodSeconds(nil)
	o.SetGeneration(0)
	o.SetSelfLink("")
	if k == Schedules || k == Snapshots {
		o.SetGeneration(1)
	}
	setDefaults(o)
	s.commit(k, nil, o, request)
	return o, nil
}

func (s *Server) mayCreate(k Kind, o client.Object) error {
	key := client.ObjectKeyFromObject(o)
	if k != Namespaces {
		namespace := s.objects[Namespaces][client.ObjectKey{Name: key.Namespace}]
		if namespace == nil {
			return apierrors.NewNotFound(Namespaces.Resource(), key.Namespace)
		}
		if namespace.GetDeletionTimestamp() != nil {
			return terminating(k, key)
		}
	}
	if o.GetResourceVersion() != "" {
		return apierrors.NewBadRequest("resourceVersion should not be set on objects to be created")
	}
	if err := valid(o); err != nil {
		return err
	}
	if s.objects[k][key] != nil {
		return apierrors.NewAlreadyExists(k.Resource(), key.Name)
	}
	return nil
}

// terminating is the refusal of the lifecycle admission.
func terminating(k Kind, key client.ObjectKey) error {
	err := apierrors.NewForbidden(k.Resource(), key.Name,
		fmt.Errorf("unable to create new content in namespace %s because it is being terminated", key.Namespace))
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{
		Type:    corev1.NamespaceTerminatingCause,
		Message: fmt.Sprintf("namespace %s is being terminated", key.Namespace),
		Field:   "metadata.namespace",
	})
	return err
}

// setDefaults is what the definitions and the storage do to a new object. Its
// status is not the creator's to set.
func setDefaults(o client.Object) {
	switch o := o.(type) {
	case *v1alpha1.SnapshotSchedule:
		o.Status = v1alpha1.SnapshotScheduleStatus{}
		defaultSpec(&o.Spec)
	case *snapshotv1.VolumeSnapshot:
		o.Status = nil
	case *corev1.PersistentVolumeClaim:
		o.Status = corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending}
	}
}

func defaultSpec(spec *v1alpha1.SnapshotScheduleSpec) {
	if spec.ReadyDeadline == "" {
		spec.ReadyDeadline = "1h"
	}
	if spec.DeletionPolicy == "" {
		spec.DeletionPolicy = v1alpha1.DeletionDelete
	}
	if spec.Retention.MinReady == nil {
		spec.Retention.MinReady = new(int32(1))
	}
}

// Update is a write to an object other than to its status, as an update or a
// patch ends: change is given a copy of what is stored. A resourceVersion that
// change leaves behind, other than the stored one, is a precondition that fails.
// It returns what is stored then; nil if the object went, for its last finalizer
// did.
func (s *Server) Update(k Kind, key client.ObjectKey, request int, change func(client.Object) error) (client.Object, error) {
	return s.update(k, key, request, change, keepStatus)
}

// UpdateStatus is the same for the status subresource: nothing else changes.
func (s *Server) UpdateStatus(k Kind, key client.ObjectKey, request int, change func(client.Object) error) (client.Object, error) {
	return s.update(k, key, request, change, keepAllButStatus)
}

func (s *Server) update(
	k Kind, key client.ObjectKey, request int, change func(client.Object) error, restrict func(stored, changed client.Object),
) (client.Object, error) {
	stored, err := s.Get(k, key)
	if err != nil {
		return nil, err
	}
	changed := clone(stored)
	if err := change(changed); err != nil {
		return nil, err
	}
	if err := hold(k, stored, changed); err != nil {
		return nil, err
	}
	restrict(stored, changed)
	if err := valid(changed); err != nil {
		return nil, err
	}
	if same(stored, changed) {
		return stored, nil
	}
	if k == Schedules && !equality.Semantic.DeepEqual(
		stored.(*v1alpha1.SnapshotSchedule).Spec, changed.(*v1alpha1.SnapshotSchedule).Spec) {
		changed.SetGeneration(stored.GetGeneration() + 1)
	}
	if changed.GetDeletionTimestamp() != nil && len(changed.GetFinalizers()) == 0 {
		s.commit(k, stored, nil, request)
		return nil, nil
	}
	s.commit(k, stored, changed, request)
	return changed, nil
}

// hold refuses what may not change, and takes back what the server alone sets.
func hold(k Kind, stored, changed client.Object) error {
	if changed.GetUID() != stored.GetUID() {
		uid := field.NewPath("metadata", "uid")
		return apierrors.NewInvalid(schema.GroupKind{}, stored.GetName(), field.ErrorList{
			field.Invalid(uid, changed.GetUID(), "field is immutable"),
		})
	}
	if changed.GetResourceVersion() != stored.GetResourceVersion() {
		return apierrors.NewConflict(k.Resource(), stored.GetName(),
			fmt.Errorf("the object has been modified; please apply your changes to the latest version and try again"))
	}
	if stored.GetDeletionTimestamp() != nil {
		for _, f := range changed.GetFinalizers() {
			if !slices.Contains(stored.GetFinalizers(), f) {
				return apierrors.NewForbidden(k.Resource(), stored.GetName(),
					fmt.Errorf("no new finalizers can be added if the object is being deleted, found new finalizers %q", f))
			}
		}
	}
	changed.SetNamespace(stored.GetNamespace())
	changed.SetName(stored.GetName())
	changed.SetCreationTimestamp(stored.GetCreationTimestamp())
	changed.SetDeletionTimestamp(stored.GetDeletionTimestamp())
	changed.SetDeletionGracePeriodSeconds(stored.GetDeletionGracePeriodSeconds())
	changed.SetGeneration(stored.GetGeneration())
	return nil
}

func keepStatus(stored, changed client.Object) {
	switch o := changed.(type) {
	case *v1alpha1.SnapshotSchedule:
		o.Status = stored.(*v1alpha1.SnapshotSchedule).Status
		defaultSpec(&o.Spec)
	case *snapshotv1.VolumeSnapshot:
		o.Status = stored.(*snapshotv1.VolumeSnapshot).Status
	case *corev1.PersistentVolumeClaim:
		o.Status = stored.(*corev1.PersistentVolumeClaim).Status
	}
}

// keepAllButStatus takes back what a status write has of everything else. As
// with the real one, that of a custom resource changes no metadata at all.
func keepAllButStatus(stored, changed client.Object) {
	switch o := changed.(type) {
	case *v1alpha1.SnapshotSchedule:
		status := o.Status
		*o = *stored.DeepCopyObject().(*v1alpha1.SnapshotSchedule)
		o.Status = status
	case *snapshotv1.VolumeSnapshot:
		status := o.Status
		*o = *stored.DeepCopyObject().(*snapshotv1.VolumeSnapshot)
		o.Status = status
	case *corev1.PersistentVolumeClaim:
		status := o.Status
		*o = *stored.DeepCopyObject().(*corev1.PersistentVolumeClaim)
		o.Status = status
	}
}
