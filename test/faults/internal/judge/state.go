// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"slices"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// state is what the API server held at one moment of a history. Changes can be undone.
type state struct {
	schedules map[types.UID]*v1alpha1.SnapshotSchedule
	claims    map[types.UID]*corev1.PersistentVolumeClaim
	snapshots map[types.UID]*snapshotv1.VolumeSnapshot
	// fleets and namespaces are by name.
	fleets     map[string]*v1alpha1.ClusterSnapshotSchedule
	namespaces map[string]*corev1.Namespace
	series     map[seriesID]map[types.UID]*snapshotv1.VolumeSnapshot
}

// seriesID names a series: the UIDs of its schedule and its PVC.
type seriesID struct {
	schedule types.UID
	mapKey   string
}

func newState() *state {
	return &state{
		schedules: map[types.UID]*v1alpha1.SnapshotSchedule{},
		claims:    map[types.UID]*corev1.PersistentVolumeClaim{},
		snapshots: map[types.UID]*snapshotv1.VolumeSnapshot{},
		fleets:    map[string]*v1alpha1.ClusterSnapshotSchedule{}, namespaces: map[string]*corev1.Namespace{},
		series: map[seriesID]map[types.UID]*snapshotv1.VolumeSnapshot{},
	}
}

// stateOf returns the state in which these objects exist.
func stateOf(objects []client.Object) *state {
	st := newState()
	for _, o := range objects {
		st.put(o)
	}
	return st
}

func (st *state) put(o client.Object) {
	switch o := o.(type) {
	case *v1alpha1.SnapshotSchedule:
		st.schedules[o.UID] = o
	case *corev1.PersistentVolumeClaim:
		st.claims[o.UID] = o
	case *snapshotv1.VolumeSnapshot:
		st.snapshots[o.UID] = o
		id := seriesOf(o)
		if st.series[id] == nil {
			st.series[id] = map[types.UID]*snapshotv1.VolumeSnapshot{}
		}
		st.series[id][o.UID] = o
	case *v1alpha1.ClusterSnapshotSchedule:
		st.fleets[o.Name] = o
	case *corev1.Namespace:
		st.namespaces[o.Name] = o
	}
}

// controllerOf returns the UID of the schedule that controls an object, empty if none does.
func controllerOf(o client.Object) types.UID {
	ref := metav1.GetControllerOfNoCopy(o)
	if ref == nil || ref.Kind != "SnapshotSchedule" {
		return ""
	}
	return ref.UID
}

// seriesOf returns the series of a snapshot: that of the schedule that controls it or, of one without a controller, that of the schedule
// that its label names, which may own it by its labels.
func seriesOf(s *snapshotv1.VolumeSnapshot) seriesID {
	id := seriesID{schedule: controllerOf(s), mapKey: s.Labels[v1alpha1.LabelMapKey]}
	if name := s.Labels[v1alpha1.LabelSchedule]; name != "" && id.mapKey != "" && metav1.GetControllerOfNoCopy(s) == nil {
		id.schedule = byLabels(s.Namespace, name)
	}
	return id
}

// byLabels stands for the UID of a schedule that owns by labels, in the series of snapshots without a controller.
func byLabels(namespace, name string) types.UID {
	return types.UID("by labels: " + namespace + "/" + name)
}

// ownsByLabels returns whether the snapshots of a schedule carry no reference to it.
func ownsByLabels(s *v1alpha1.SnapshotSchedule) bool {
	return s.Spec.DeletionPolicy == v1alpha1.DeletionOrphan
}

// scheduleOf returns the schedule that a series belongs to, or nil.
func (st *state) scheduleOf(id seriesID) *v1alpha1.SnapshotSchedule {
	if s := st.schedules[id.schedule]; s != nil {
		return s
	}
	for _, s := range st.schedules {
		if ownsByLabels(s) && id.schedule == byLabels(s.Namespace, s.Name) {
			return s
		}
	}
	return nil
}

// isTagged returns whether a snapshot carries the labels of a schedule.
func isTagged(s *snapshotv1.VolumeSnapshot, schedule *v1alpha1.SnapshotSchedule) bool {
	return s.Namespace == schedule.Namespace && s.Labels[v1alpha1.LabelMapKey] != "" && s.Labels[v1alpha1.LabelSchedule] == schedule.Name
}

// isReleased returns whether a user took a snapshot out of its schedule, by its label. Its reference stays while it is being deleted.
func isReleased(s, own *snapshotv1.VolumeSnapshot) bool {
	return s.Labels[v1alpha1.LabelSchedule] != own.Labels[v1alpha1.LabelSchedule]
}

// owned returns whether a snapshot is a schedule's own: controlled by it or, if it owns by labels, by nothing; and not released by its
// labels.
func owned(s *snapshotv1.VolumeSnapshot, schedule *v1alpha1.SnapshotSchedule) bool {
	return isTagged(s, schedule) &&
		(controllerOf(s) == schedule.UID || ownsByLabels(schedule) && metav1.GetControllerOfNoCopy(s) == nil)
}

// pinVersion replaces a snapshot by the version that was deleted: the preconditions guarantee that the decision was about it.
func (v *view) pinVersion(s *snapshotv1.VolumeSnapshot) {
	v.series = slices.DeleteFunc(v.series, func(have *snapshotv1.VolumeSnapshot) bool { return have.UID == s.UID })
	v.series = append(v.series, s)
}

// times are the times at which a view is evaluated. With time more may be deleted, except when a driver's creation time is passed.
func (v *view) times() []time.Time {
	if v.from.Equal(v.until) {
		return []time.Time{v.until}
	}
	return []time.Time{v.until, v.from}
}

// view returns the state of one series. The caller sets its times.
func (st *state) view(id seriesID) *view {
	v := &view{schedule: st.scheduleOf(id), claim: st.claims[types.UID(id.mapKey)]}
	ids := []seriesID{id}
	if s := v.schedule; s != nil && ownsByLabels(s) {
		// References are being removed: both are its own.
		ids = []seriesID{{s.UID, id.mapKey}, {byLabels(s.Namespace, s.Name), id.mapKey}}
	}
	for _, id := range ids {
		for _, s := range st.series[id] {
			if v.schedule == nil || owned(s, v.schedule) {
				v.series = append(v.series, s)
			}
		}
	}
	for _, claim := range st.claims {
		v.claims = append(v.claims, claim)
	}
	return v
}

// slotID is a slot of one PVC under one schedule.
type slotID struct {
	seriesID
	slot int64 // Unix seconds
}

// slotIDOf returns false for a snapshot that no schedule controls, or that has no slot.
func slotIDOf(s *snapshotv1.VolumeSnapshot) (slotID, bool) {
	at, err := time.Parse(time.RFC3339, s.Annotations[v1alpha1.AnnotationScheduledAt])
	id := slotID{seriesID: seriesOf(s), slot: at.Unix()}
	return id, err == nil && id.schedule != "" && id.mapKey != ""
}

// selects returns whether a series belongs to a PVC that its schedule selects.
func (st *state) selects(id seriesID) bool {
	v := st.view(id)
	if v.schedule == nil {
		return false
	}
	spec, err := ReadSpec(&v.schedule.Spec)
	return err == nil && (&evaluation{view: v, Spec: spec}).selected()
}
