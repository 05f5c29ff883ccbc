// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"fmt"
	"reflect"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/history"
)

// S1: only VolumeSnapshots that a schedule controls are deleted, patched or
// counted, but for the patch that adopts an orphan; and of what is not its
// output the operator changes nothing but a schedule's status and finalizer.
func S1(h *history.History) []Violation {
	found := idleMiscounts(h)
	known := map[types.UID]bool{} // schedules that there are or were
	most := map[seriesID]int{}    // the most snapshots that a series ever had
	replay(h, func(i int, w *world) {
		if i > 0 {
			w.noteSize(&h.Changes[i-1], most)
		}
		c := &h.Changes[i]
		if s, ok := c.After.(*v1alpha1.SnapshotSchedule); ok {
			known[s.UID] = true
		}
		if !byOperator(h, i) {
			return
		}
		for _, why := range []string{ownWrite(h, i, w, known), miscount(c, most)} {
			if why != "" {
				found = append(found, Violation{Oracle: "S1", At: c.At, Message: why, Change: i, Request: c.Request})
			}
		}
	})
	return found
}

// ownWrite says what is wrong with a change of the operator's; empty: nothing.
func ownWrite(h *history.History, i int, w *world, known map[types.UID]bool) string {
	c := &h.Changes[i]
	o := c.After
	if o == nil {
		o = c.Before
	}
	switch o.(type) {
	case *corev1.PersistentVolumeClaim:
		return fmt.Sprintf("PVC %s was changed by the operator", client.ObjectKeyFromObject(o))
	case *v1alpha1.SnapshotSchedule:
		if why := scheduleWrite(c); why != "" {
			return fmt.Sprintf("SnapshotSchedule %s: %s", client.ObjectKeyFromObject(o), why)
		}
	case *snapshotv1.VolumeSnapshot:
		if why := snapshotWrite(h, i, w, known); why != "" {
			return fmt.Sprintf("VolumeSnapshot %s: %s", client.ObjectKeyFromObject(o), why)
		}
	}
	return ""
}

func scheduleWrite(c *history.Change) string {
	before, _ := c.Before.(*v1alpha1.SnapshotSchedule)
	after, _ := c.After.(*v1alpha1.SnapshotSchedule)
	switch {
	case before == nil:
		return "the operator created it"
	case before.DeletionTimestamp == nil && (after == nil || after.DeletionTimestamp != nil):
		return "the operator deleted it"
	case after == nil:
		return "" // the finalizer went
	case !reflect.DeepEqual(before.Spec, after.Spec), !sameTags(before, after):
		return "the operator changed its spec, labels or annotations"
	}
	return ""
}

func sameTags(a, b client.Object) bool {
	same := func(a, b map[string]string) bool { return len(a) == 0 && len(b) == 0 || reflect.DeepEqual(a, b) }
	return same(a.GetLabels(), b.GetLabels()) && same(a.GetAnnotations(), b.GetAnnotations())
}

func snapshotWrite(h *history.History, i int, w *world, known map[types.UID]bool) string {
	before, _ := h.Changes[i].Before.(*snapshotv1.VolumeSnapshot)
	after, _ := h.Changes[i].After.(*snapshotv1.VolumeSnapshot)
	_, deletes := deletionAt(h, i)
	switch {
	case before == nil && !known[controllerOf(after)]:
		return "it was created, but no SnapshotSchedule controls it"
	case before == nil:
		return ""
	case (deletes || after == nil) && !known[controllerOf(before)]:
		return "it was deleted, and " + controlOf(before)
	case deletes || after == nil:
		return ""
	case !reflect.DeepEqual(before.Spec, after.Spec), !reflect.DeepEqual(before.Status, after.Status), !sameTags(before, after):
		return "the operator changed more of it than its ownerReferences"
	case known[controllerOf(before)]:
		return ""
	}
	return refusedAdoption(h, i, w, before, after)
}

func controlOf(o client.Object) string {
	ref := metav1.GetControllerOfNoCopy(o)
	if ref == nil {
		return "nobody controls it"
	}
	return fmt.Sprintf("%s %s (%s) controls it", ref.Kind, ref.Name, ref.UID)
}

// refusedAdoption says why a patch of a snapshot that no schedule controls is
// not the one that adopts an orphan.
func refusedAdoption(h *history.History, i int, w *world, before, after *snapshotv1.VolumeSnapshot) string {
	owner := controllerOf(after)
	switch {
	case metav1.GetControllerOfNoCopy(before) != nil:
		return "it was patched, and " + controlOf(before)
	case owner == "":
		return "it was patched, and nobody controls it"
	case before.DeletionTimestamp != nil:
		return "it was adopted while it was being deleted"
	case before.Labels[v1alpha1.LabelMapKey] == "":
		return "it was adopted without a map key"
	}
	fits := func() bool {
		s := w.schedules[owner]
		return s != nil && s.DeletionTimestamp == nil && s.Namespace == before.Namespace &&
			s.Name == before.Labels[v1alpha1.LabelSchedule]
	}
	fitted := fits()
	c := &h.Changes[i]
	w.lookBack(h, i, opened(&h.Requests[c.Request], c.At), func(*history.Change) bool {
		fitted = fitted || fits()
		return !fitted
	})
	if !fitted {
		return "it was adopted by a schedule that is gone or going, or that its label does not name"
	}
	return ""
}

// noteSize keeps the most snapshots that the series of a change had.
func (w *world) noteSize(c *history.Change, most map[seriesID]int) {
	if s, ok := c.After.(*snapshotv1.VolumeSnapshot); ok {
		id := seriesOf(s)
		most[id] = max(most[id], len(w.series[id]))
	}
}

// miscount says that a status counts more than the schedule can ever have had:
// a cache may be late, but what it holds was true once.
func miscount(c *history.Change, most map[seriesID]int) string {
	s, ok := c.After.(*v1alpha1.SnapshotSchedule)
	if !ok {
		return ""
	}
	can := 0
	for id, n := range most {
		if id.schedule == s.UID {
			can += n
		}
	}
	count := s.Status.Outputs.VolumeSnapshots
	switch {
	case int(count.Total) > can:
		return fmt.Sprintf("SnapshotSchedule %s: status counts %d snapshots, and it never had more than %d", s.Name, count.Total, can)
	case count.Ready > count.Total:
		return fmt.Sprintf("SnapshotSchedule %s: status counts %d ready of %d snapshots", s.Name, count.Ready, count.Total)
	}
	return ""
}

// idleMiscounts: where nothing has happened for a while, status counts exactly
// what is owned.
func idleMiscounts(h *history.History) []Violation {
	var found []Violation
	for _, window := range h.Windows {
		if window.Kind != history.Idle {
			continue
		}
		end := endOf(window, h)
		w, last := worldAt(h, end)
		for _, s := range w.schedules {
			if s.DeletionTimestamp != nil || s.Status.ObservedGeneration == 0 || s.Status.ObservedGeneration != s.Generation {
				continue
			}
			have := 0
			for _, v := range w.snapshots {
				if owned(v, s) {
					have++
				}
			}
			if total := int(s.Status.Outputs.VolumeSnapshots.Total); total != have {
				found = append(found, Violation{Oracle: "S1", At: end, Change: last, Request: -1, Message: fmt.Sprintf(
					"SnapshotSchedule %s/%s: status counts %d snapshots while it has %d, and nothing happens", s.Namespace, s.Name, total, have)})
			}
		}
	}
	return found
}

// worldAt is the world at a time, and the index of the last change before it.
func worldAt(h *history.History, at time.Time) (*world, int) {
	w := newWorld()
	for i := range h.Changes {
		if h.Changes[i].At.After(at) {
			return w, i - 1
		}
		w.swap(h.Changes[i].Before, h.Changes[i].After)
	}
	return w, len(h.Changes) - 1
}
