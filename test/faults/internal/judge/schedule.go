// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"context"
	"reflect"
	"slices"
	"strconv"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// schedule judges a write of a SnapshotSchedule by what it has made of it: nobody else has written in between.
func (j *AtWrite) schedule(ctx context.Context, st *State, a Attempt) (answered func(code int)) {
	before := Named(st.Schedules, a.Name)
	return func(code int) {
		if code >= 300 {
			return
		}
		objects, err := j.Objects(ctx)
		j.mu.Lock()
		defer j.mu.Unlock()
		if err != nil {
			j.fail("cannot be judged", "%s of SnapshotSchedule %s: %v", a.Verb, a.Name, err)
			return
		}
		j.scheduleChange(st, a, before, Named(StateOf(objects).Schedules, a.Name))
	}
}

func (j *AtWrite) scheduleChange(st *State, a Attempt, before, after *v1alpha1.SnapshotSchedule) {
	clause, why := "", ""
	switch {
	case before == nil && after == nil:
		return
	case before == nil:
		clause, why = j.versions.forbiddenCreate(after)
	case a.Verb == "delete" && before.DeletionTimestamp == nil:
		clause, why = st.deletesChild(before)
	case after == nil: // the last finalizer was removed, or the namespace controller deleted it meanwhile
	case fleetOf(before) != "" || fleetOf(after) != "":
		if !sameButStatus(before, after) {
			clause, why = j.versions.forbiddenUpdate(before, after, func() bool { return j.adopted[before.UID] })
		}
		j.adopted[before.UID] = j.adopted[before.UID] || fleetOf(before) == ""
	case !reflect.DeepEqual(before.Spec, after.Spec), !sameTags(before, after):
		clause, why = "S1", "the operator changed its spec, labels or annotations"
	}
	if why != "" {
		j.fail(clause, "SnapshotSchedule %s: %s", a.Name, why)
	}
	if before == nil {
		return
	}
	j.promises(st, a, before, after)
	if after != nil {
		j.counts(st, a, before, after)
	}
}

// counts judges what a new status counts: no more ready ones than there are, and no fewer than there were when the operator started. A
// label or an owner that was changed later is not known here: workloads that do that count for themselves.
func (j *AtWrite) counts(st *State, a Attempt, before, after *v1alpha1.SnapshotSchedule) {
	count := after.Status.Outputs.VolumeSnapshots
	if count.Ready > count.Total {
		j.fail("S1", "the status of SnapshotSchedule %s counts %d ready of %d snapshots", a.Name, count.Ready, count.Total)
	}
	have := 0
	for _, v := range st.Snapshots {
		if Owned(v, after) && v.CreationTimestamp.Time.Before(a.Started.Truncate(time.Second)) {
			have++
		}
	}
	if a.Sees && counted(&before.Status, after) && int(count.Total) < have {
		j.fail("STAT-12", "the status of SnapshotSchedule %s counts %d snapshots under generation %d; it had %d when the operator started",
			a.Name, count.Total, after.Generation, have)
	}
}

// counted returns whether a write of the status counts snapshots: it changes the count, or names the present generation. Of an invalid
// spec, the count may be absent.
func counted(before *v1alpha1.SnapshotScheduleStatus, s *v1alpha1.SnapshotSchedule) bool {
	status := &s.Status
	return status.ObservedGeneration == s.Generation && status.Inputs != nil &&
		(before.ObservedGeneration != status.ObservedGeneration || before.Inputs == nil || before.Outputs != status.Outputs)
}

// deletesChild returns why a schedule must not be deleted: only the child of a ClusterSnapshotSchedule is, if its namespace is not
// selected, it has observed that it is suspended, and no snapshot of it is left.
func (st *State) deletesChild(child *v1alpha1.SnapshotSchedule) (clause, why string) {
	f, n := Named(st.Fleets, child.Name), Named(st.Namespaces, child.Namespace)
	switch {
	case fleetOf(child) == "" || f == nil || f.UID != fleetOf(child) || !isNamed(child, f):
		return "FLEET-3", "it was deleted, and is not the child of a ClusterSnapshotSchedule"
	case child.Status.ObservedGeneration != child.Generation:
		return "FLEET-4", "it was deleted before it had observed its spec"
	case n == nil || selects(f, n) || !reflect.DeepEqual(child.Spec, childSpec(f, false)):
		return "FLEET-4", "it was deleted, and its namespace was selected or it was not suspended"
	case st.hasSnapshots(child):
		return "FLEET-4", "it was deleted while snapshots of it were left"
	}
	return "", ""
}

// promises judges S8: under deletionPolicy Orphan no snapshot refers to a schedule that reports its generation, or loses its finalizer.
func (j *AtWrite) promises(st *State, a Attempt, before, after *v1alpha1.SnapshotSchedule) {
	var what string
	switch {
	case !OwnsByLabels(before):
		return
	case hasFinalizer(before) && !hasFinalizer(after):
		what = "lost its finalizer"
	case after != nil && promised(after) && !promised(before):
		what = "reports its generation"
	default:
		return
	}
	var left []string
	for _, v := range st.Snapshots {
		if refers(v, before.UID) {
			left = append(left, v.Name)
		}
	}
	if len(left) > 0 {
		j.fail("S8", "SnapshotSchedule %s %s while %d snapshots refer to it, %s among them", a.Name, what, len(left), slices.Min(left))
	}
}

// promised returns whether the status of a schedule reports its generation. A deletion increases it.
func promised(s *v1alpha1.SnapshotSchedule) bool {
	observed := s.Status.ObservedGeneration
	return observed == s.Generation || s.DeletionTimestamp != nil && observed == s.Generation-1
}

func hasFinalizer(s *v1alpha1.SnapshotSchedule) bool {
	return s != nil && slices.Contains(s.Finalizers, v1alpha1.FinalizerRelease)
}

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

// wasOwned returns whether the status of a schedule, which tenants cannot write, says that a ClusterSnapshotSchedule owns it, or
// owned it.
func wasOwned(s *v1alpha1.SnapshotSchedule, f *v1alpha1.ClusterSnapshotSchedule) bool {
	return s.Name == f.Name && s.Status.Retention != nil && s.Status.Retention.ClusterSchedule == string(f.UID)
}

// isNamed returns whether a schedule's labels say that it is the child of a ClusterSnapshotSchedule, or its status that it was.
func isNamed(s *v1alpha1.SnapshotSchedule, f *v1alpha1.ClusterSnapshotSchedule) bool {
	return hasTags(s, f.Name) || wasOwned(s, f)
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
	adoptable := func(f *v1alpha1.ClusterSnapshotSchedule, _ *corev1.Namespace) bool { return isNamed(before, f) }
	switch isChild, isAfter := fleetOf(before) != "", fleetOf(after) != ""; {
	case isChild && isAfter:
		return v.forbiddenChange(before, after)
	case isChild && (changed || v.ever(before, adoptable) && !undone()):
		return "FLEET-3", "it was released although it has its labels, or had them before, or changed by the release"
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
		return isNamed(before, f) && reflect.DeepEqual(after.Spec, childSpec(f, selects(f, n)))
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
		if wasOwned(before, f) {
			metav1.SetMetaDataLabel(want, v1alpha1.LabelMapKey, before.Namespace)
			metav1.SetMetaDataLabel(want, v1alpha1.LabelClusterSchedule, f.Name)
		}
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

// versions are all that schedules, ClusterSnapshotSchedules and namespaces have been so far, apart from their status.
type versions struct {
	schedules  []*v1alpha1.SnapshotSchedule
	fleets     []*v1alpha1.ClusterSnapshotSchedule
	namespaces []*corev1.Namespace
}

func (v *versions) add(o client.Object) {
	switch o := o.(type) {
	case *v1alpha1.SnapshotSchedule:
		v.schedules = withVersion(v.schedules, o)
	case *v1alpha1.ClusterSnapshotSchedule:
		v.fleets = withVersion(v.fleets, o)
	case *corev1.Namespace:
		v.namespaces = withVersion(v.namespaces, o)
	}
}

// withVersion adds an object to others, unless one of them has its spec and its metadata.
func withVersion[T client.Object](all []T, o T) []T {
	created := o.GetCreationTimestamp() // which workloads change
	known := slices.ContainsFunc(all, func(have T) bool {
		return have.GetUID() == o.GetUID() && have.GetGeneration() == o.GetGeneration() && created.Equal(ptr.To(have.GetCreationTimestamp())) &&
			have.GetDeletionTimestamp().Equal(o.GetDeletionTimestamp()) && sameTags(have, o)
	})
	if known {
		return all
	}
	return append(all, o)
}

// ever returns whether something holds for some versions of a child's ClusterSnapshotSchedule and its namespace.
func (v *versions) ever(child *v1alpha1.SnapshotSchedule, holds func(*v1alpha1.ClusterSnapshotSchedule, *corev1.Namespace) bool) bool {
	return slices.ContainsFunc(v.fleets, func(f *v1alpha1.ClusterSnapshotSchedule) bool {
		return f.UID == fleetOf(child) && slices.ContainsFunc(v.namespaces, func(n *corev1.Namespace) bool {
			return n.Name == child.Namespace && holds(f, n)
		})
	})
}

// labeling returns the last schedule whose labels a snapshot carries that nothing controls.
func (v *versions) labeling(s *snapshotv1.VolumeSnapshot) (last *v1alpha1.SnapshotSchedule) {
	for _, schedule := range v.schedules {
		if IsTagged(s, schedule) && metav1.GetControllerOfNoCopy(s) == nil {
			last = schedule
		}
	}
	return last
}
