// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/history"
)

// world is what the API server held at one moment of a history. It can go back
// as well as on.
type world struct {
	schedules map[types.UID]*v1alpha1.SnapshotSchedule
	claims    map[types.UID]*corev1.PersistentVolumeClaim
	snapshots map[types.UID]*snapshotv1.VolumeSnapshot
	series    map[seriesID]map[types.UID]*snapshotv1.VolumeSnapshot
}

// seriesID is whose snapshots, and of which PVC by UID.
type seriesID struct {
	schedule types.UID
	mapKey   string
}

func newWorld() *world {
	return &world{
		schedules: map[types.UID]*v1alpha1.SnapshotSchedule{},
		claims:    map[types.UID]*corev1.PersistentVolumeClaim{},
		snapshots: map[types.UID]*snapshotv1.VolumeSnapshot{},
		series:    map[seriesID]map[types.UID]*snapshotv1.VolumeSnapshot{},
	}
}

// replay calls do before each change, with the world as it was then, and returns
// the world at the end.
func replay(h *history.History, do func(i int, w *world)) *world {
	w := newWorld()
	for i := range h.Changes {
		do(i, w)
		w.swap(h.Changes[i].Before, h.Changes[i].After)
	}
	return w
}

// swap takes one object for another; swap(after, before) undoes a change.
func (w *world) swap(out, in client.Object) {
	if out != nil {
		w.drop(out)
	}
	if in != nil {
		w.put(in)
	}
}

// lookBack undoes the changes before one, the latest first, for as long as the
// state that they made lay within a window that opened so, and calls do after
// each until that has seen enough. Then it does them again.
func (w *world) lookBack(h *history.History, index int, opened time.Time, do func(undone *history.Change) bool) {
	latest := h.Changes[index].At.Add(recordingSlack)
	i := index - 1
	for ; i >= 0; i-- {
		c := &h.Changes[i]
		if c.At.Before(opened) || c.At.After(latest) {
			break // what was before had ended, or the server's clock was set meanwhile
		}
		w.swap(c.After, c.Before)
		if !do(c) {
			i--
			break
		}
	}
	for i++; i < index; i++ {
		w.swap(h.Changes[i].Before, h.Changes[i].After)
	}
}

func (w *world) put(o client.Object) {
	switch o := o.(type) {
	case *v1alpha1.SnapshotSchedule:
		w.schedules[o.UID] = o
	case *corev1.PersistentVolumeClaim:
		w.claims[o.UID] = o
	case *snapshotv1.VolumeSnapshot:
		w.snapshots[o.UID] = o
		id := seriesOf(o)
		if w.series[id] == nil {
			w.series[id] = map[types.UID]*snapshotv1.VolumeSnapshot{}
		}
		w.series[id][o.UID] = o
	}
}

func (w *world) drop(o client.Object) {
	switch o := o.(type) {
	case *v1alpha1.SnapshotSchedule:
		delete(w.schedules, o.UID)
	case *corev1.PersistentVolumeClaim:
		delete(w.claims, o.UID)
	case *snapshotv1.VolumeSnapshot:
		delete(w.snapshots, o.UID)
		delete(w.series[seriesOf(o)], o.UID)
	}
}

// controllerOf is the schedule that controls an object, by UID; empty if none
// does.
func controllerOf(o client.Object) types.UID {
	ref := metav1.GetControllerOfNoCopy(o)
	if ref == nil || ref.Kind != "SnapshotSchedule" {
		return ""
	}
	return ref.UID
}

func seriesOf(s *snapshotv1.VolumeSnapshot) seriesID {
	return seriesID{schedule: controllerOf(s), mapKey: s.Labels[v1alpha1.LabelMapKey]}
}

// owned tells whether a snapshot is one of a schedule's: controlled by it, and not
// taken out of it by its labels.
func owned(s *snapshotv1.VolumeSnapshot, schedule *v1alpha1.SnapshotSchedule) bool {
	return controllerOf(s) == schedule.UID && s.Namespace == schedule.Namespace &&
		s.Labels[v1alpha1.LabelMapKey] != "" && s.Labels[v1alpha1.LabelSchedule] == schedule.Name
}

// deletion is a change by which the operator deleted a snapshot, or had it begin
// to go.
type deletion struct {
	index   int
	at      time.Time
	doomed  *snapshotv1.VolumeSnapshot
	request *history.Request
	number  int // of the request
}

// deletionAt reads a change as the operator's delete.
func deletionAt(h *history.History, i int) (deletion, bool) {
	c := &h.Changes[i]
	doomed, ok := c.Before.(*snapshotv1.VolumeSnapshot)
	if !ok || !byOperator(h, i) || doomed.DeletionTimestamp != nil {
		return deletion{}, false
	}
	if c.After != nil && c.After.GetDeletionTimestamp() == nil {
		return deletion{}, false
	}
	return deletion{index: i, at: c.At, doomed: doomed, request: &h.Requests[c.Request], number: c.Request}, true
}

func byOperator(h *history.History, i int) bool {
	return h.Changes[i].Request >= 0 && h.Changes[i].Request < len(h.Requests)
}

// eachDeletion replays a history and calls do for every delete of the
// operator's, with the world just before it.
func eachDeletion(h *history.History, do func(d deletion, w *world)) {
	replay(h, func(i int, w *world) {
		if d, ok := deletionAt(h, i); ok {
			do(d, w)
		}
	})
}

func (d deletion) violation(oracle, message string) Violation {
	return Violation{Oracle: oracle, At: d.at, Message: message, Change: d.index, Request: d.number}
}

// endOf is when a window ended, that of the history if it is open.
func endOf(w history.Window, h *history.History) time.Time {
	if w.Until.IsZero() || !h.Ended.IsZero() && w.Until.After(h.Ended) {
		return h.Ended
	}
	return w.Until
}
