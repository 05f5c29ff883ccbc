// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"fmt"
	"reflect"
	"slices"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// Finalizers of the garbage collector.
const (
	FinalizerOrphan     = metav1.FinalizerOrphanDependents
	FinalizerForeground = metav1.FinalizerDeleteDependents
)

// Create stores a copy of an object, and returns the stored object.
func (s *Server) Create(o client.Object) (client.Object, error) {
	k, err := KindOf(o)
	if err != nil {
		return nil, err
	}
	if err := s.mayCreate(k, o); err != nil {
		return nil, err
	}
	o = clone(o)
	o.SetUID(s.NewUID())
	o.SetCreationTimestamp(s.timestamp())
	o.SetDeletionTimestamp(nil)
	o.SetDeletionGracePeriodSeconds(nil)
	o.SetGeneration(0)
	o.SetSelfLink("")
	if k == Schedules || k == Snapshots {
		o.SetGeneration(1)
	}
	setDefaults(o)
	s.commit(k, nil, o)
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
	if err := validate(o); err != nil {
		return err
	}
	if s.objects[k][key] != nil {
		return apierrors.NewAlreadyExists(k.Resource(), key.Name)
	}
	return nil
}

// terminating is the error of namespace lifecycle admission.
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

// setDefaults sets the defaults of a new object, and its initial status instead of the creator's.
func setDefaults(o client.Object) {
	switch o := o.(type) {
	case *v1alpha1.SnapshotSchedule:
		o.Status = v1alpha1.SnapshotScheduleStatus{ObservedGeneration: -1}
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
	if spec.Retention.MinReady == nil {
		spec.Retention.MinReady = new(int32(1))
	}
}

// Update changes an object other than its status, as an update or a patch does: change is called with a copy of the stored object, and
// a conflict results if it sets another resourceVersion. It returns the stored object, nil if it was removed with its last finalizer.
func (s *Server) Update(k Kind, key client.ObjectKey, change func(client.Object) error) (client.Object, error) {
	return s.update(k, key, change, keepStatus)
}

// UpdateStatus does the same for the status subresource: nothing else changes.
func (s *Server) UpdateStatus(k Kind, key client.ObjectKey, change func(client.Object) error) (client.Object, error) {
	return s.update(k, key, change, keepAllButStatus)
}

func (s *Server) update(
	k Kind, key client.ObjectKey, change func(client.Object) error, restrict func(stored, changed client.Object),
) (client.Object, error) {
	stored, err := s.Get(k, key)
	if err != nil {
		return nil, err
	}
	changed := clone(stored)
	if err := change(changed); err != nil {
		return nil, err
	}
	if err := restoreImmutable(k, stored, changed); err != nil {
		return nil, err
	}
	restrict(stored, changed)
	if err := validate(changed); err != nil {
		return nil, err
	}
	if equality.Semantic.DeepEqual(stored, changed) {
		return stored, nil
	}
	if k == Schedules && !equality.Semantic.DeepEqual(
		stored.(*v1alpha1.SnapshotSchedule).Spec, changed.(*v1alpha1.SnapshotSchedule).Spec) {
		changed.SetGeneration(stored.GetGeneration() + 1)
	}
	if changed.GetDeletionTimestamp() != nil && len(changed.GetFinalizers()) == 0 {
		s.commit(k, stored, nil)
		return nil, nil
	}
	s.commit(k, stored, changed)
	return changed, nil
}

// restoreImmutable rejects changes that are not allowed, and restores what only the server sets.
func restoreImmutable(k Kind, stored, changed client.Object) error {
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
	copyStatus(stored, changed)
	if o, ok := changed.(*v1alpha1.SnapshotSchedule); ok {
		defaultSpec(&o.Spec)
	}
}

// keepAllButStatus restores everything but the status: a status write changes no metadata either.
func keepAllButStatus(stored, changed client.Object) {
	result := clone(stored)
	copyStatus(changed, result)
	reflect.ValueOf(changed).Elem().Set(reflect.ValueOf(result).Elem())
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

// Merge applies a JSON merge patch (RFC 7386) to an object.
func Merge(o client.Object, patch []byte) error {
	var changes map[string]any
	if err := json.Unmarshal(patch, &changes); err != nil {
		return fmt.Errorf("merge patch: %w", err)
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return err
	}
	content = merge(content, changes)
	fresh := reflect.New(reflect.TypeOf(o).Elem())
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, fresh.Interface()); err != nil {
		return fmt.Errorf("merge patch: %w", err)
	}
	reflect.ValueOf(o).Elem().Set(fresh.Elem())
	return nil
}

func merge(into, changes map[string]any) map[string]any {
	if into == nil {
		into = map[string]any{}
	}
	for key, value := range changes {
		switch value := value.(type) {
		case nil:
			delete(into, key)
		case map[string]any:
			inner, _ := into[key].(map[string]any)
			into[key] = merge(inner, value)
		default:
			into[key] = value
		}
	}
	return into
}

// validate rejects metadata that a real server rejects, and snapshots without exactly one source. It does not validate schedules: the
// simulation writes only specs that the CRD admits.
func validate(o client.Object) error {
	var errs field.ErrorList
	meta := field.NewPath("metadata")
	for _, message := range validation.IsDNS1123Subdomain(o.GetName()) {
		errs = append(errs, field.Invalid(meta.Child("name"), o.GetName(), message))
	}
	errs = append(errs, metav1validation.ValidateLabels(o.GetLabels(), meta.Child("labels"))...)
	controllers := 0
	for i, ref := range o.GetOwnerReferences() {
		at := meta.Child("ownerReferences").Index(i)
		if ref.UID == "" || ref.Name == "" || ref.Kind == "" || ref.APIVersion == "" {
			errs = append(errs, field.Invalid(at, ref, "must not be empty"))
		}
		if ref.Controller != nil && *ref.Controller {
			if controllers++; controllers > 1 {
				errs = append(errs, field.Invalid(at, ref, "only one reference can have Controller set to true"))
			}
		}
	}
	if snapshot, ok := o.(*snapshotv1.VolumeSnapshot); ok {
		source := snapshot.Spec.Source
		if (source.PersistentVolumeClaimName == nil) == (source.VolumeSnapshotContentName == nil) {
			errs = append(errs, field.Invalid(field.NewPath("spec", "source"), source, "exactly one of the sources must be set"))
		}
		if class := snapshot.Spec.VolumeSnapshotClassName; class != nil && *class == "" {
			errs = append(errs, field.Invalid(field.NewPath("spec", "volumeSnapshotClassName"), "", "must not be the empty string"))
		}
	}
	if len(errs) == 0 {
		return nil
	}
	gvk := o.GetObjectKind().GroupVersionKind().GroupKind()
	return apierrors.NewInvalid(gvk, o.GetName(), errs)
}
