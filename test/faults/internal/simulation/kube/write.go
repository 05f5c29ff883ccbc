// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"encoding/json"
	"errors"
	"reflect"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// Create stores a copy of an object, and returns the stored object. It validates metadata only: users of the simulation write specs that
// the CRDs admit.
func (s *Server) Create(o client.Object) (client.Object, error) {
	k, err := KindOf(o)
	if err != nil {
		return nil, err
	}
	if o.GetResourceVersion() != "" {
		return nil, apierrors.NewBadRequest("resourceVersion should not be set on objects to be created")
	}
	o = clone(o)
	o.GetObjectKind().SetGroupVersionKind(k.GroupVersionKind())
	o.SetNamespace(Namespace)
	o.SetUID(s.NewUID())
	o.SetCreationTimestamp(s.timestamp())
	o.SetGeneration(firstGeneration[k])
	copyStatus(firstStatus[k], o)
	setDefaults(o)
	if errs := validation.ValidateObjectMetaAccessor(o, true, validation.NameIsDNSSubdomain, field.NewPath("metadata")); len(errs) > 0 {
		return nil, apierrors.NewInvalid(k.GroupVersionKind().GroupKind(), o.GetName(), errs)
	}
	if s.Find(k, o.GetName()) != nil {
		return nil, apierrors.NewAlreadyExists(k.Resource(), o.GetName())
	}
	s.commit(k, nil, o)
	return o, nil
}

// What new objects have, whatever their creator set.
var (
	firstGeneration = [Kinds]int64{Schedules: 1, Snapshots: 1}
	firstStatus     = [Kinds]client.Object{
		Schedules: &v1alpha1.SnapshotSchedule{Status: v1alpha1.SnapshotScheduleStatus{ObservedGeneration: -1}},
		Claims:    &corev1.PersistentVolumeClaim{Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending}},
		Snapshots: &snapshotv1.VolumeSnapshot{},
	}
)

// setDefaults sets the defaults of the CRD.
func setDefaults(o client.Object) {
	s, ok := o.(*v1alpha1.SnapshotSchedule)
	if !ok {
		return
	}
	if s.Spec.ReadyDeadline == "" {
		s.Spec.ReadyDeadline = "1h"
	}
	if s.Spec.Retention.MinReady == nil {
		s.Spec.Retention.MinReady = new(int32(1))
	}
}

// Subresources of an update.
const (
	// Main is an object without its status.
	Main = ""
	// Status is the status alone, without even metadata.
	Status = "status"
)

// Update changes an object or its status, as an update or a patch does: change is called with a copy of the stored object, and a conflict
// results if it sets another resourceVersion. It returns the stored object, or the last one if its last finalizer was removed.
func (s *Server) Update(k Kind, name, subresource string, change func(client.Object)) (client.Object, error) {
	stored, err := s.Get(k, name)
	if err != nil {
		return nil, err
	}
	changed := clone(stored)
	change(changed)
	if changed.GetResourceVersion() != stored.GetResourceVersion() {
		return nil, apierrors.NewConflict(k.Resource(), name, errors.New("the object has been modified"))
	}
	// What only the server sets. A patch may say anything.
	changed.SetCreationTimestamp(stored.GetCreationTimestamp())
	changed.SetDeletionTimestamp(stored.GetDeletionTimestamp())
	changed.SetDeletionGracePeriodSeconds(stored.GetDeletionGracePeriodSeconds())
	changed.SetGeneration(stored.GetGeneration())
	if errs := validation.ValidateObjectMetaAccessorUpdate(changed, stored, field.NewPath("metadata")); len(errs) > 0 {
		return nil, apierrors.NewInvalid(k.GroupVersionKind().GroupKind(), name, errs)
	}
	if subresource == Status {
		status := changed
		changed = clone(stored)
		copyStatus(status, changed)
	} else {
		copyStatus(stored, changed)
		setDefaults(changed)
	}
	if equality.Semantic.DeepEqual(stored, changed) {
		return stored, nil
	}
	if before, ok := stored.(*v1alpha1.SnapshotSchedule); ok &&
		!equality.Semantic.DeepEqual(before.Spec, changed.(*v1alpha1.SnapshotSchedule).Spec) {
		changed.SetGeneration(before.Generation + 1)
	}
	if changed.GetDeletionTimestamp() != nil && len(changed.GetFinalizers()) == 0 {
		s.commit(k, stored, nil)
		return stored, nil
	}
	s.commit(k, stored, changed)
	return changed, nil
}

func copyStatus(from, to client.Object) {
	switch to := to.(type) {
	case *v1alpha1.SnapshotSchedule:
		to.Status = from.(*v1alpha1.SnapshotSchedule).Status
	case *snapshotv1.VolumeSnapshot:
		to.Status = from.(*snapshotv1.VolumeSnapshot).Status
	case *corev1.PersistentVolumeClaim:
		to.Status = from.(*corev1.PersistentVolumeClaim).Status
	}
}

// merge applies a JSON merge patch to an object. It panics if that is malformed, which no patch of client-go is.
func merge(o client.Object, patch []byte) {
	before, err := json.Marshal(o)
	must(err)
	after, err := jsonpatch.MergePatch(before, patch)
	must(err)
	reflect.ValueOf(o).Elem().SetZero()
	must(json.Unmarshal(after, o))
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
