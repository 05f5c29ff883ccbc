// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// Create stores a copy of an object, and returns the stored object. It validates metadata only: users of the simulation write specs that
// the CRDs admit.
func (s *Server) Create(o client.Object) (client.Object, error) {
	k := KindOf(o)
	if o.GetResourceVersion() != "" {
		return nil, &apierrors.StatusError{ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: "resourceVersion should not be set on objects to be created",
		}}
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
	firstGeneration = [Kinds]int64{Schedules: 1, Snapshots: 1, Groups: 1}
	firstStatus     = [Kinds]client.Object{
		Schedules: &v1alpha1.SnapshotSchedule{Status: v1alpha1.SnapshotScheduleStatus{ObservedGeneration: -1}},
		Claims:    &corev1.PersistentVolumeClaim{Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending}},
		Snapshots: &snapshotv1.VolumeSnapshot{},
		Groups:    &groupv1.VolumeGroupSnapshot{},
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
	case *groupv1.VolumeGroupSnapshot:
		to.Status = from.(*groupv1.VolumeGroupSnapshot).Status
	case *corev1.PersistentVolumeClaim:
		to.Status = from.(*corev1.PersistentVolumeClaim).Status
	}
}

// applyPatch applies a merge patch to an object, or a JSON patch, which is a list. If a JSON patch does not apply, the object stays as it
// is, and the error is the client's. It panics if a patch is malformed, which none of client-go is.
func applyPatch(o client.Object, text []byte) error {
	before, err := json.Marshal(o)
	must(err)
	var after []byte
	if bytes.HasPrefix(text, []byte("[")) {
		operations, err := jsonpatch.DecodePatch(text)
		if err == nil {
			after, err = operations.Apply(before)
		}
		if err != nil {
			k := KindOf(o)
			return apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "patch", k.Resource(), o.GetName(), err.Error(), 0, false)
		}
	} else {
		after, err = jsonpatch.MergePatch(before, text)
		must(err)
	}
	reflect.ValueOf(o).Elem().SetZero()
	must(json.Unmarshal(after, o))
	return nil
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// Delete removes an object, or marks it as being deleted if it has finalizers or the propagation policy adds one.
func (s *Server) Delete(k Kind, name string, options metav1.DeleteOptions) error {
	stored, err := s.Get(k, name)
	if err != nil {
		return err
	}
	p := ptr.Deref(options.Preconditions, metav1.Preconditions{})
	if ptr.Deref(p.UID, stored.GetUID()) != stored.GetUID() ||
		ptr.Deref(p.ResourceVersion, stored.GetResourceVersion()) != stored.GetResourceVersion() {
		return apierrors.NewConflict(k.Resource(), name, fmt.Errorf("precondition failed: the object has UID %s and resourceVersion %s",
			stored.GetUID(), stored.GetResourceVersion()))
	}
	finalizers := withPropagation(stored.GetFinalizers(), options.PropagationPolicy)
	if len(finalizers) == 0 {
		s.commit(k, stored, nil)
		return nil
	}
	if stored.GetDeletionTimestamp() != nil && slices.Equal(finalizers, stored.GetFinalizers()) {
		return nil
	}
	deleting := clone(stored)
	deleting.SetFinalizers(finalizers)
	if stored.GetDeletionTimestamp() == nil {
		deleting.SetDeletionTimestamp(new(s.timestamp()))
		deleting.SetDeletionGracePeriodSeconds(new(int64(0)))
		if deleting.GetGeneration() > 0 {
			deleting.SetGeneration(deleting.GetGeneration() + 1)
		}
	}
	s.commit(k, stored, deleting)
	return nil
}

// withPropagation returns the finalizers under a propagation policy. Without one they stay: the default of these kinds is background.
func withPropagation(finalizers []string, policy *metav1.DeletionPropagation) []string {
	if policy == nil {
		return finalizers
	}
	finalizers = slices.DeleteFunc(slices.Clone(finalizers), isCollectors)
	switch *policy {
	case metav1.DeletePropagationOrphan:
		return append(finalizers, metav1.FinalizerOrphanDependents)
	case metav1.DeletePropagationForeground:
		return append(finalizers, metav1.FinalizerDeleteDependents)
	}
	return finalizers
}

func isCollectors(finalizer string) bool {
	return finalizer == metav1.FinalizerOrphanDependents || finalizer == metav1.FinalizerDeleteDependents
}

// IsGarbage returns whether the garbage collector has something to do with an object: an owner of a snapshot or of a group of them is absent, or a schedule
// that is being deleted has one of its finalizers.
func (s *Server) IsGarbage(o client.Object) bool {
	if o.GetDeletionTimestamp() != nil {
		return slices.ContainsFunc(o.GetFinalizers(), isCollectors)
	}
	return slices.ContainsFunc(o.GetOwnerReferences(), s.dangles)
}

// dangles returns whether a reference is to a schedule that does not exist, by name and UID. Owners of other kinds are not stored, and
// taken to exist.
func (s *Server) dangles(ref metav1.OwnerReference) bool {
	owner := s.Find(Schedules, ref.Name)
	return ref.Kind == gvks[Schedules].Kind && (owner == nil || owner.GetUID() != ref.UID)
}

// Collect does the garbage collector's work for one object. The caller decides when; as long as it is garbage, again.
func (s *Server) Collect(o client.Object) {
	switch {
	case !s.IsGarbage(o):
	case o.GetDeletionTimestamp() != nil:
		s.collectOwner(o)
	case slices.ContainsFunc(o.GetOwnerReferences(), func(ref metav1.OwnerReference) bool { return !s.dangles(ref) }):
		s.removeOwners(o, s.dangles)
	default:
		s.delete(o)
	}
}

// delete deletes a snapshot or a group of them as it is, and no later version.
func (s *Server) delete(o client.Object) {
	_ = s.Delete(KindOf(o), o.GetName(), metav1.DeleteOptions{
		Preconditions:     &metav1.Preconditions{UID: new(o.GetUID()), ResourceVersion: new(o.GetResourceVersion())},
		PropagationPolicy: new(metav1.DeletePropagationBackground),
	})
}

// collectOwner orphans the dependents of a schedule, or deletes them and waits until they are gone.
func (s *Server) collectOwner(o client.Object) {
	refersTo := func(ref metav1.OwnerReference) bool { return ref.UID == o.GetUID() }
	waits := false
	for _, dependent := range slices.Concat(s.objects[Snapshots], s.objects[Groups]) {
		switch {
		case !slices.ContainsFunc(dependent.GetOwnerReferences(), refersTo):
		case slices.Contains(o.GetFinalizers(), metav1.FinalizerOrphanDependents):
			s.removeOwners(dependent, refersTo)
		default:
			if waits = true; dependent.GetDeletionTimestamp() == nil {
				s.delete(dependent)
			}
		}
	}
	if !waits {
		_, _ = s.Update(Schedules, o.GetName(), Main, func(o client.Object) {
			o.SetFinalizers(slices.DeleteFunc(o.GetFinalizers(), isCollectors))
		})
	}
}

func (s *Server) removeOwners(o client.Object, which func(metav1.OwnerReference) bool) {
	_, _ = s.Update(KindOf(o), o.GetName(), Main, func(o client.Object) {
		o.SetOwnerReferences(slices.DeleteFunc(o.GetOwnerReferences(), which))
	})
}
