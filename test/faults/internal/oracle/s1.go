// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/history"
)

// S1: the operator deletes, patches and counts only VolumeSnapshots that a schedule controls or, under deletionPolicy Orphan, that carry
// its labels and have no controller; except for the patch that adopts an orphan.
// Of other objects it changes only the status and the finalizer of a schedule, the status of a ClusterSnapshotSchedule, and what Fleet
// judges: the children of a ClusterSnapshotSchedule.
func S1(h *history.History) []Violation {
	found := idleMiscounts(h)
	known := map[types.UID]bool{} // schedules that exist or existed
	sizes := map[seriesID]int{}   // the largest size that a series ever had
	replay(h, func(i int, st *state) {
		if i > 0 {
			st.recordSize(&h.Changes[i-1], sizes)
		}
		c := &h.Changes[i]
		if s, ok := c.After.(*v1alpha1.SnapshotSchedule); ok {
			known[s.UID] = true
			if ownsByLabels(s) {
				known[byLabels(s.Namespace, s.Name)] = true
			}
		}
		if !byOperator(h, i) {
			return
		}
		for _, why := range []string{forbiddenWrite(h, i, st, known), miscount(c, sizes)} {
			if why != "" {
				found = append(found, changeViolation("S1", h, i, "%s", why))
			}
		}
	})
	return found
}

// forbiddenWrite returns what is wrong with a change by the operator, empty if nothing is.
func forbiddenWrite(h *history.History, i int, st *state, known map[types.UID]bool) string {
	c := &h.Changes[i]
	o := c.After
	if o == nil {
		o = c.Before
	}
	switch o.(type) {
	case *corev1.PersistentVolumeClaim:
		return fmt.Sprintf("PVC %s was changed by the operator", client.ObjectKeyFromObject(o))
	case *corev1.Namespace:
		return fmt.Sprintf("Namespace %s was changed by the operator", o.GetName())
	case *v1alpha1.ClusterSnapshotSchedule:
		before, existed := c.Before.(*v1alpha1.ClusterSnapshotSchedule)
		after, exists := c.After.(*v1alpha1.ClusterSnapshotSchedule)
		if !existed || !exists || !reflect.DeepEqual(before.Spec, after.Spec) || !sameTags(before, after) {
			return fmt.Sprintf("ClusterSnapshotSchedule %s: the operator changed more of it than its status", o.GetName())
		}
	case *v1alpha1.SnapshotSchedule:
		if why := scheduleWrite(c); why != "" {
			return fmt.Sprintf("SnapshotSchedule %s: %s", client.ObjectKeyFromObject(o), why)
		}
	case *snapshotv1.VolumeSnapshot:
		if why := snapshotWrite(h, i, st, known); why != "" {
			return fmt.Sprintf("VolumeSnapshot %s: %s", client.ObjectKeyFromObject(o), why)
		}
	}
	return ""
}

func scheduleWrite(c *history.Change) string {
	before, _ := c.Before.(*v1alpha1.SnapshotSchedule)
	after, _ := c.After.(*v1alpha1.SnapshotSchedule)
	switch {
	case fleetOf(c.Before) != "" || fleetOf(c.After) != "":
		return "" // FLEET
	case before == nil:
		return "the operator created it"
	case before.DeletionTimestamp == nil && (after == nil || after.DeletionTimestamp != nil):
		return "the operator deleted it"
	case after == nil:
		return "" // the last finalizer was removed
	case !reflect.DeepEqual(before.Spec, after.Spec), !sameTags(before, after):
		return "the operator changed its spec, labels or annotations"
	}
	return ""
}

func sameTags(a, b client.Object) bool {
	same := func(a, b map[string]string) bool { return len(a) == 0 && len(b) == 0 || reflect.DeepEqual(a, b) }
	return same(a.GetLabels(), b.GetLabels()) && same(a.GetAnnotations(), b.GetAnnotations())
}

func snapshotWrite(h *history.History, i int, st *state, known map[types.UID]bool) string {
	before, _ := h.Changes[i].Before.(*snapshotv1.VolumeSnapshot)
	after, _ := h.Changes[i].After.(*snapshotv1.VolumeSnapshot)
	_, deletes := deletionAt(h, i)
	switch {
	case before == nil && !known[seriesOf(after).schedule]:
		return "it was created, but no SnapshotSchedule controls it"
	case before == nil:
		return ""
	case (deletes || after == nil) && !known[seriesOf(before).schedule]:
		return "it was deleted, and " + controlOf(before)
	case (deletes || after == nil) && controllerOf(before) == "" && !st.within(h, i, func() bool { return st.scheduleOf(seriesOf(before)) != nil }):
		return "it was deleted without a controller, and no schedule with deletionPolicy Orphan has its labels"
	case deletes || after == nil:
		return ""
	case !reflect.DeepEqual(before.Spec, after.Spec), !reflect.DeepEqual(before.Status, after.Status), !sameTags(before, after):
		return "the operator changed more of it than its ownerReferences"
	case known[controllerOf(before)]:
		return ""
	}
	return forbiddenAdoption(h, i, st, before, after)
}

func controlOf(o client.Object) string {
	ref := metav1.GetControllerOfNoCopy(o)
	if ref == nil {
		return "it has no controller"
	}
	return fmt.Sprintf("%s %s (%s) controls it", ref.Kind, ref.Name, ref.UID)
}

// forbiddenAdoption returns why a patch of a snapshot that no schedule controls is not the adoption of an orphan.
func forbiddenAdoption(h *history.History, i int, st *state, before, after *snapshotv1.VolumeSnapshot) string {
	owner := controllerOf(after)
	switch {
	case metav1.GetControllerOfNoCopy(before) != nil:
		return "it was patched, and " + controlOf(before)
	case owner == "":
		return "it was patched, and " + controlOf(before)
	case before.DeletionTimestamp != nil:
		return "it was adopted while it was being deleted"
	case before.Labels[v1alpha1.LabelMapKey] == "":
		return "it was adopted without a map key"
	case slices.ContainsFunc(before.OwnerReferences, isGroup):
		return "it was adopted, and is a member of a VolumeGroupSnapshot"
	}
	mayAdopt := func() bool {
		s := st.schedules[owner]
		return s != nil && s.DeletionTimestamp == nil && !ownsByLabels(s) && s.Namespace == before.Namespace &&
			s.Name == before.Labels[v1alpha1.LabelSchedule]
	}
	if !st.within(h, i, mayAdopt) {
		return "it was adopted by a schedule that is gone or being deleted, that owns by labels, or that its label does not name"
	}
	return ""
}

// within returns whether something held at some moment of the guards' window of a change.
func (st *state) within(h *history.History, i int, holds func() bool) bool {
	found, c := holds(), &h.Changes[i]
	st.undoSince(h, i, windowStart(&h.Requests[c.Request], c.At), func(*history.Change) bool {
		found = found || holds()
		return !found
	})
	return found
}

// recordSize updates the largest size of the series of a change.
func (st *state) recordSize(c *history.Change, sizes map[seriesID]int) {
	if s, ok := c.After.(*snapshotv1.VolumeSnapshot); ok {
		id := seriesOf(s)
		sizes[id] = max(sizes[id], len(st.series[id]))
	}
}

// miscount returns whether a status counts more than the schedule can ever have had: a cache may lag, but it holds what was true once.
func miscount(c *history.Change, sizes map[seriesID]int) string {
	s, ok := c.After.(*v1alpha1.SnapshotSchedule)
	if !ok {
		return ""
	}
	limit := 0
	for id, n := range sizes {
		if id.schedule == s.UID || id.schedule == byLabels(s.Namespace, s.Name) {
			limit += n
		}
	}
	count := s.Status.Outputs.VolumeSnapshots
	switch {
	case int(count.Total) > limit:
		return fmt.Sprintf("SnapshotSchedule %s: status counts %d snapshots, and it never had more than %d", s.Name, count.Total, limit)
	case count.Ready > count.Total:
		return fmt.Sprintf("SnapshotSchedule %s: status counts %d ready of %d snapshots", s.Name, count.Ready, count.Total)
	}
	return ""
}

// idleMiscounts: in an idle cluster status counts exactly the owned snapshots.
func idleMiscounts(h *history.History) []Violation {
	var found []Violation
	for _, window := range h.Windows {
		if window.Kind != history.Idle {
			continue
		}
		end := endOf(window, h)
		st, last := stateAt(h, end)
		for _, s := range st.schedules {
			if s.DeletionTimestamp != nil || s.Status.ObservedGeneration == 0 || s.Status.ObservedGeneration != s.Generation {
				continue
			}
			have := 0
			for _, v := range st.snapshots {
				if owned(v, s) {
					have++
				}
			}
			if total := int(s.Status.Outputs.VolumeSnapshots.Total); total != have {
				found = append(found, Violation{Oracle: "S1", At: end, Change: last, Request: -1, Message: fmt.Sprintf(
					"SnapshotSchedule %s/%s: status counts %d snapshots while it has %d and is idle", s.Namespace, s.Name, total, have)})
			}
		}
	}
	return found
}

// isGroup returns whether a reference is to a VolumeGroupSnapshot of the snapshot controller.
func isGroup(ref metav1.OwnerReference) bool {
	return ref.Kind == "VolumeGroupSnapshot" && strings.HasPrefix(ref.APIVersion, "groupsnapshot.storage.k8s.io/")
}
