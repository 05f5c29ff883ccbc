// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterschedules

import (
	"maps"
	"strconv"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
)

type schedule = v1alpha1.SnapshotSchedule

// newChild returns the SnapshotSchedule that a namespace should have. The engine adds
// its labels and its owner.
func (p *program) newChild(namespace string) *schedule {
	template := &p.fleet.Spec.Template
	child := &schedule{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: p.fleet.Name, Labels: map[string]string{}, Annotations: maps.Clone(template.Metadata.Annotations),
		},
		Spec: *template.Spec.DeepCopy(),
	}
	for key, value := range template.Metadata.Labels {
		child.Labels[key] = string(value)
	}
	return child
}

// request passes a request for snapshots on to a child.
func (p *program) request(want *schedule) {
	if at, requested := p.fleet.Annotations[v1alpha1.AnnotationRequestedAt]; requested {
		annotate(want, v1alpha1.AnnotationRequestedAt, at)
	}
}

func annotate(child *schedule, key, value string) {
	if child.Annotations == nil {
		child.Annotations = map[string]string{}
	}
	child.Annotations[key] = value
}

// confirm passes a confirmation of the present generation on to a child. Only a child
// with the template's spec is confirmed: another one is not what the user has seen.
//
// The annotations of requests on a child wake its keys, and tell people. Nobody depends
// on them: who may edit the child may write them, too. internal/snapshots reads those of
// the ClusterSnapshotSchedule.
func (p *program) confirm(want, child *schedule) {
	if p.confirmed && child != nil && equality.Semantic.DeepEqual(child.Spec, want.Spec) {
		annotate(want, v1alpha1.AnnotationConfirmGeneration, strconv.FormatInt(child.Generation, 10))
	}
}

// update is the engine's Update: the spec is replaced as a whole, because a field that
// somebody adds, such as maxCount: 1, could weaken it. Labels and annotations are
// merged.
func update(observed, desired client.Object) {
	have, want := observed.(*schedule), desired.(*schedule)
	have.Spec = want.Spec
	have.Labels = merged(have.Labels, want.Labels)
	have.Annotations = merged(have.Annotations, want.Annotations)
}

func merged(have, want map[string]string) map[string]string {
	all := maps.Clone(have)
	if all == nil && len(want) > 0 {
		all = map[string]string{}
	}
	maps.Copy(all, want)
	return all
}

// meets returns whether a child is as it should be.
func meets(want, have *schedule) bool {
	changed := have.DeepCopy()
	update(changed, want)
	return equality.Semantic.DeepEqual(changed, have)
}

// isChild returns whether an object has the name and the namespace that a parent's
// child for a map key has. A copy under another name has the same labels and owner,
// and is not the child. One that the parent owned before needs no labels.
func isChild(parent client.Object, o client.Object) bool {
	if o.GetName() != parent.GetName() || o.GetNamespace() == "" {
		return false
	}
	return o.GetLabels()[v1alpha1.LabelMapKey] == o.GetNamespace() || recorded(o).UID == parent.GetUID() && parent.GetUID() != ""
}

// Owner returns the UID of the ClusterSnapshotSchedule that owns a schedule, or owned it, as its status
// says, which tenants cannot write; empty if none does.
func Owner(s *v1alpha1.SnapshotSchedule) types.UID {
	if s.Status.Retention == nil {
		return ""
	}
	return types.UID(s.Status.Retention.ClusterSchedule)
}

// Owns returns whether a ClusterSnapshotSchedule owns the schedule of its name, or owned it, whatever labels and
// owners that has now.
func Owns(f *v1alpha1.ClusterSnapshotSchedule, s *v1alpha1.SnapshotSchedule) bool {
	return f.UID != "" && f.Name == s.Name && (Owner(s) == f.UID || controls(f, s))
}

// controls returns whether a ClusterSnapshotSchedule controls a schedule.
func controls(f *v1alpha1.ClusterSnapshotSchedule, s *v1alpha1.SnapshotSchedule) bool {
	ref := metav1.GetControllerOfNoCopy(s)
	return ref != nil && ref.UID == f.UID && IsFleet(ref)
}

// IsFleet returns whether an owner reference is to a ClusterSnapshotSchedule, of any version of the API.
func IsFleet(ref *metav1.OwnerReference) bool {
	group, err := schema.ParseGroupVersion(ref.APIVersion)
	return ref.Kind == "ClusterSnapshotSchedule" && err == nil && group.Group == v1alpha1.GroupName
}

// recorded is the engine's Recorded. Nothing else than the schedule of a ClusterSnapshotSchedule's name, in the
// namespace of its map key, gets a record of it. Metadata have none.
func recorded(o client.Object) mapcontroller.Record {
	s, ok := o.(*schedule)
	if !ok {
		return mapcontroller.Record{}
	}
	return mapcontroller.Record{UID: Owner(s), Name: s.Name, MapKey: s.Namespace}
}

// observed returns whether a child's status describes its present spec.
func observed(child *schedule) bool {
	return child.Status.ObservedGeneration == child.Generation && child.Status.Inputs != nil
}
