// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

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
