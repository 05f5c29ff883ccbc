// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"fmt"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/history"
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

// stateAt returns the state at a time, and the index of the last change before it.
func stateAt(h *history.History, at time.Time) (*state, int) {
	st := newState()
	for i := range h.Changes {
		if h.Changes[i].At.After(at) {
			return st, i - 1
		}
		st.swap(h.Changes[i].Before, h.Changes[i].After)
	}
	return st, len(h.Changes) - 1
}

// replay calls do before each change, with the state before it.
func replay(h *history.History, do func(i int, st *state)) {
	st := newState()
	for i := range h.Changes {
		do(i, st)
		st.swap(h.Changes[i].Before, h.Changes[i].After)
	}
}

// swap replaces one object by another; swap(after, before) undoes a change.
func (st *state) swap(out, in client.Object) {
	if out != nil {
		st.drop(out)
	}
	if in != nil {
		st.put(in)
	}
}

// undoSince undoes the changes before one, the latest first, back to the start of a window, and calls do after each until it returns
// false. Then it restores the state.
func (st *state) undoSince(h *history.History, index int, windowStart time.Time, do func(undone *history.Change) bool) {
	latest := h.Changes[index].At.Add(recordingSlack)
	i := index - 1
	for ; i >= 0; i-- {
		c := &h.Changes[i]
		if c.At.Before(windowStart) || c.At.After(latest) {
			break // before the window, or the server's clock was set in between
		}
		st.swap(c.After, c.Before)
		if !do(c) {
			i--
			break
		}
	}
	for i++; i < index; i++ {
		st.swap(h.Changes[i].Before, h.Changes[i].After)
	}
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

func (st *state) drop(o client.Object) {
	switch o := o.(type) {
	case *v1alpha1.SnapshotSchedule:
		delete(st.schedules, o.UID)
	case *corev1.PersistentVolumeClaim:
		delete(st.claims, o.UID)
	case *snapshotv1.VolumeSnapshot:
		delete(st.snapshots, o.UID)
		delete(st.series[seriesOf(o)], o.UID)
	case *v1alpha1.ClusterSnapshotSchedule:
		delete(st.fleets, o.Name)
	case *corev1.Namespace:
		delete(st.namespaces, o.Name)
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

// owned returns whether a snapshot is a schedule's own: controlled by it or, if it owns by labels, by nothing; and not released by its
// labels.
func owned(s *snapshotv1.VolumeSnapshot, schedule *v1alpha1.SnapshotSchedule) bool {
	return isTagged(s, schedule) &&
		(controllerOf(s) == schedule.UID || ownsByLabels(schedule) && metav1.GetControllerOfNoCopy(s) == nil)
}

// deletion is a change by which the operator deleted a snapshot, or marked it as being deleted.
type deletion struct {
	index    int
	at       time.Time
	snapshot *snapshotv1.VolumeSnapshot
	request  *history.Request
	number   int // of the request
}

// deletionAt returns a change as the operator's delete, if it is one.
func deletionAt(h *history.History, i int) (deletion, bool) {
	c := &h.Changes[i]
	s, ok := c.Before.(*snapshotv1.VolumeSnapshot)
	if !ok || !byOperator(h, i) || s.DeletionTimestamp != nil {
		return deletion{}, false
	}
	if c.After != nil && c.After.GetDeletionTimestamp() == nil {
		return deletion{}, false
	}
	return deletion{index: i, at: c.At, snapshot: s, request: &h.Requests[c.Request], number: c.Request}, true
}

func byOperator(h *history.History, i int) bool {
	return h.Changes[i].Request >= 0 && h.Changes[i].Request < len(h.Requests)
}

// eachDeletion replays a history and calls do for every delete of the operator, with the state before it.
func eachDeletion(h *history.History, do func(d deletion, st *state)) {
	replay(h, func(i int, st *state) {
		if d, ok := deletionAt(h, i); ok {
			do(d, st)
		}
	})
}

func (d deletion) violation(oracle, format string, args ...any) Violation {
	return Violation{Oracle: oracle, At: d.at, Change: d.index, Request: d.number, Message: fmt.Sprintf(
		"VolumeSnapshot %s/%s was deleted", d.snapshot.Namespace, d.snapshot.Name) + fmt.Sprintf(format, args...)}
}

// endOf returns when a window ended; an open one ends with the history.
func endOf(w history.Window, h *history.History) time.Time {
	if w.Until.IsZero() || !h.Ended.IsZero() && w.Until.After(h.Ended) {
		return h.Ended
	}
	return w.Until
}
