// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// program makes the decisions under one schedule.
type program struct {
	// schedule has the spec that it is decided by.
	schedule *v1alpha1.SnapshotSchedule
	spec     *compiled
	from     origin
	// classesKnown is set if VolumeSnapshotClasses are among the related objects.
	classesKnown bool
	// groupClassesUnknown is set if VolumeGroupSnapshotClasses are not among them, whatever classesKnown is.
	groupClassesUnknown bool
}

func newProgram(s *v1alpha1.SnapshotSchedule, from origin, classesKnown bool) (*program, error) {
	s = from.decided(s)
	spec, err := compile(&s.Spec)
	if err != nil {
		return nil, err
	}
	return &program{schedule: s, spec: spec, from: from, classesKnown: classesKnown}, nil
}

func (p *program) selects(o client.Object) bool {
	claim := o.(*corev1.PersistentVolumeClaim)
	return !Excluded(claim) && p.spec.selector.Matches(labels.Set(claim.Labels)) &&
		(len(p.schedule.Spec.StorageClassNames) == 0 || slices.Contains(p.schedule.Spec.StorageClassNames, storageClassOf(claim)))
}

// Excluded returns whether no schedule selects a PVC, because it is annotated so.
func Excluded(claim *corev1.PersistentVolumeClaim) bool {
	_, excluded := claim.Annotations[v1alpha1.AnnotationExclude]
	return excluded
}

// storageClassOf returns the storage class of a PVC. Kubernetes still prefers the
// annotation.
func storageClassOf(claim *corev1.PersistentVolumeClaim) v1alpha1.StorageClassName {
	if class, ok := claim.Annotations[corev1.BetaStorageClassAnnotation]; ok {
		return v1alpha1.StorageClassName(class)
	}
	return v1alpha1.StorageClassName(ptr.Deref(claim.Spec.StorageClassName, ""))
}

// ExcludedByRollback begins the value of the annotation exclude on what a rollback by the kubectl plugin creates. The
// ID of the rollback follows.
const ExcludedByRollback = "rollback "

// ExcludedOnlyByRollback returns whether no schedule selects a PVC until a rollback is finished. What the rollback
// restores to meanwhile is meant to be left out.
func ExcludedOnlyByRollback(claim *corev1.PersistentVolumeClaim) bool {
	_, meanwhile := claim.Annotations[v1alpha1.AnnotationRollbackOf]
	return !meanwhile && strings.HasPrefix(claim.Annotations[v1alpha1.AnnotationExclude], ExcludedByRollback)
}
