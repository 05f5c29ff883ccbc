// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"reflect"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// selects returns whether a ClusterSnapshotSchedule protects a namespace.
func selects(f *v1alpha1.ClusterSnapshotSchedule, n *corev1.Namespace) bool {
	_, excluded := n.Annotations[v1alpha1.AnnotationExclude]
	selector, err := f.Spec.NamespaceSelector.AsSelector()
	return err == nil && !excluded && n.DeletionTimestamp == nil && selector.Matches(labels.Set(n.Labels))
}

// childSpec is the spec that a child must have: the template's and, for a namespace that is not selected, suspended.
func childSpec(f *v1alpha1.ClusterSnapshotSchedule, selected bool) v1alpha1.SnapshotScheduleSpec {
	spec := f.Spec.Template.Spec
	spec.Suspend = spec.Suspend || !selected
	return spec
}

// hasTags returns whether a schedule has the name and the labels of a ClusterSnapshotSchedule's child in its namespace.
func hasTags(s *v1alpha1.SnapshotSchedule, fleet string) bool {
	return s.Name == fleet && s.Labels[v1alpha1.LabelMapKey] == s.Namespace && s.Labels[v1alpha1.LabelClusterSchedule] == fleet
}

func sameButStatus(a, b *v1alpha1.SnapshotSchedule) bool {
	return reflect.DeepEqual(a.Spec, b.Spec) && sameTags(a, b) && reflect.DeepEqual(a.OwnerReferences, b.OwnerReferences)
}

func (v *versions) forbiddenCreate(child *v1alpha1.SnapshotSchedule) (clause, why string) {
	right := v.ever(child, func(f *v1alpha1.ClusterSnapshotSchedule, n *corev1.Namespace) bool {
		return selects(f, n) && hasTags(child, f.Name) && reflect.DeepEqual(child.Spec, childSpec(f, true))
	})
	if right {
		return "", ""
	}
	return "FLEET-1", "it was created, and is not the child of a ClusterSnapshotSchedule in a namespace that it selects"
}

func (v *versions) forbiddenUpdate(before, after *v1alpha1.SnapshotSchedule, undone func() bool) (clause, why string) {
	changed := !sameTags(before, after) || !reflect.DeepEqual(before.Spec, after.Spec)
	adoptable := func(f *v1alpha1.ClusterSnapshotSchedule, _ *corev1.Namespace) bool { return hasTags(before, f.Name) }
	switch isChild, isAfter := fleetOf(before) != "", fleetOf(after) != ""; {
	case isChild && isAfter:
		return v.forbiddenChange(before, after)
	case isChild && (changed || hasTags(before, before.Name) && !undone()):
		return "FLEET-3", "it was released although it has its labels, or changed by the release"
	case isChild:
		return "", ""
	case metav1.GetControllerOfNoCopy(before) != nil:
		return "FLEET-3", "it was changed, and " + controlOf(before)
	case changed || before.DeletionTimestamp != nil || !v.ever(after, adoptable):
		return "FLEET-3", "it was adopted without the name and both labels, or changed by the adoption"
	}
	return "", ""
}

// forbiddenChange returns what is wrong with a change of a child.
func (v *versions) forbiddenChange(before, after *v1alpha1.SnapshotSchedule) (clause, why string) {
	const confirm = v1alpha1.AnnotationConfirmGeneration
	right := v.ever(before, func(f *v1alpha1.ClusterSnapshotSchedule, n *corev1.Namespace) bool {
		return hasTags(before, f.Name) && reflect.DeepEqual(after.Spec, childSpec(f, selects(f, n)))
	})
	if !right {
		return "FLEET-2", "the operator gave it a spec that is not the template's"
	}
	confirmation, isConfirmed := after.Annotations[confirm]
	if confirmation != before.Annotations[confirm] {
		confirmed := confirmation == strconv.FormatInt(before.Generation, 10) &&
			v.ever(before, func(f *v1alpha1.ClusterSnapshotSchedule, n *corev1.Namespace) bool {
				return confirmsIt(f) && reflect.DeepEqual(before.Spec, childSpec(f, selects(f, n)))
			})
		if !confirmed {
			return "FLEET-9", "a generation was confirmed that nobody has confirmed, or without the template's spec"
		}
	}
	merged := v.ever(before, func(f *v1alpha1.ClusterSnapshotSchedule, _ *corev1.Namespace) bool {
		want := &before.DeepCopy().ObjectMeta
		for key, value := range f.Spec.Template.Metadata.Labels {
			metav1.SetMetaDataLabel(want, key, string(value))
		}
		for key, value := range f.Spec.Template.Metadata.Annotations {
			metav1.SetMetaDataAnnotation(want, key, value)
		}
		if at, requested := f.Annotations[v1alpha1.AnnotationRequestedAt]; requested {
			metav1.SetMetaDataAnnotation(want, v1alpha1.AnnotationRequestedAt, at)
		}
		if delete(want.Annotations, confirm); isConfirmed {
			metav1.SetMetaDataAnnotation(want, confirm, confirmation)
		}
		return sameTags(want, after)
	})
	if !merged && !sameTags(before, after) { // the spec is put back alone where the API server refused the rest
		return "FLEET-2", "the operator changed labels or annotations that are not the template's"
	}
	return "", ""
}
