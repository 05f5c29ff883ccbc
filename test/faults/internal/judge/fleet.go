// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"maps"
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
	switch owner := fleetOf(before); {
	case owner == "" && metav1.GetControllerOfNoCopy(before) != nil:
		return "FLEET-3", "it was changed, and " + controlOf(before)
	case owner == "" && fleetOf(after) == "":
		return "FLEET-3", "it was changed, and no ClusterSnapshotSchedule controls it"
	case owner == "":
		adoptable := before.DeletionTimestamp == nil && sameTags(before, after) && reflect.DeepEqual(before.Spec, after.Spec) &&
			v.ever(after, func(f *v1alpha1.ClusterSnapshotSchedule, _ *corev1.Namespace) bool { return hasTags(before, f.Name) })
		if !adoptable {
			return "FLEET-3", "it was adopted without the name and both labels, or changed by the adoption"
		}
		return "", ""
	case fleetOf(after) == "":
		if hasTags(before, before.Name) && !undone() || !sameTags(before, after) || !reflect.DeepEqual(before.Spec, after.Spec) {
			return "FLEET-3", "it was released although it has its labels, or changed by the release"
		}
		return "", ""
	}
	return v.forbiddenChange(before, after)
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
	if after.Annotations[confirm] != before.Annotations[confirm] {
		confirmed := after.Annotations[confirm] == strconv.FormatInt(before.Generation, 10) &&
			v.ever(before, func(f *v1alpha1.ClusterSnapshotSchedule, n *corev1.Namespace) bool {
				return f.Annotations[confirm] == strconv.FormatInt(f.Generation, 10) && reflect.DeepEqual(before.Spec, childSpec(f, selects(f, n)))
			})
		if !confirmed {
			return "FLEET-9", "a generation was confirmed that nobody has confirmed, or without the template's spec"
		}
	}
	if maps.Equal(before.Labels, after.Labels) && maps.Equal(before.Annotations, after.Annotations) {
		return "", "" // the spec is put back alone where the API server refused the rest
	}
	merged := v.ever(before, func(f *v1alpha1.ClusterSnapshotSchedule, _ *corev1.Namespace) bool {
		added := map[string]string{}
		for key, value := range f.Spec.Template.Metadata.Labels {
			added[key] = string(value)
		}
		return isMerged(before.Labels, added, after.Labels) && isMerged(before.Annotations, passedOn(f), after.Annotations, confirm)
	})
	if !merged {
		return "FLEET-2", "the operator changed labels or annotations that are not the template's"
	}
	return "", ""
}

// passedOn are the annotations that a ClusterSnapshotSchedule gives its children, but for a confirmation.
func passedOn(f *v1alpha1.ClusterSnapshotSchedule) map[string]string {
	all := maps.Clone(f.Spec.Template.Metadata.Annotations)
	if at, requested := f.Annotations[v1alpha1.AnnotationRequestedAt]; requested {
		if all == nil {
			all = map[string]string{}
		}
		all[v1alpha1.AnnotationRequestedAt] = at
	}
	return all
}

// isMerged returns whether a map is another one with some entries added, but for some keys.
func isMerged(before, added, after map[string]string, but ...string) bool {
	want := maps.Clone(before)
	if want == nil {
		want = map[string]string{}
	}
	maps.Copy(want, added)
	got := maps.Clone(after)
	for _, key := range but {
		delete(want, key)
		delete(got, key)
	}
	return len(want) == 0 && len(got) == 0 || maps.Equal(want, got)
}
