// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"fmt"
	"slices"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	"k8s.io/apimachinery/pkg/types"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/history"
)

// OneAtATime: no snapshot is created while another one of its series is uncut, even if that one failed, is held or is being deleted.
// The operator can only know what it is shown: a create counts only if nothing disturbed its process before, and the uncut snapshot
// only if it existed when the process started, or for a while.
func OneAtATime(h *history.History) []Violation {
	started := map[int]time.Time{}
	for i := range h.Requests {
		r := &h.Requests[i]
		if first, ok := started[r.Process]; !ok || r.At.Before(first) {
			started[r.Process] = r.At
		}
	}
	var found []Violation
	created := map[types.UID]time.Time{}
	replay(h, func(i int, st *state) {
		c := &h.Changes[i]
		s, ok := c.After.(*snapshotv1.VolumeSnapshot)
		if !ok || c.Before != nil {
			return
		}
		created[s.UID] = c.At
		if !byOperator(h, i) {
			return
		}
		since := started[h.Requests[c.Request].Process]
		if disturbed(h, since, c.At, history.Faulty, history.Skewed) {
			return
		}
		for uid, other := range st.series[seriesOf(s)] {
			if uid != s.UID && isUncut(other) && (created[uid].Before(since) || c.At.Sub(created[uid]) > ReactionTime) {
				found = append(found, changeViolation("Slot", h, i,
					"VolumeSnapshot %s/%s was created while %s existed, which is uncut", s.Namespace, s.Name, other.Name))
			}
		}
	})
	return found
}

// disturbed returns whether a window of some kinds overlaps a span of time.
func disturbed(h *history.History, from, until time.Time, kinds ...history.Kind) bool {
	return slices.ContainsFunc(h.Windows, func(w history.Window) bool {
		return slices.Contains(kinds, w.Kind) && w.From.Before(until) && (w.Until.IsZero() || w.Until.After(from))
	})
}

// Slots: every snapshot that the operator creates is for a slot of its schedule, under any of its specs so far or later, or for a time
// that its schedule requested for the PVC.
func Slots(h *history.History) []Violation {
	rules := slotRulesOf(h)
	var found []Violation
	for i, c := range h.Changes {
		s, ok := c.After.(*snapshotv1.VolumeSnapshot)
		if !ok || c.Before != nil || !byOperator(h, i) {
			continue
		}
		if why := rules.refusal(s, h.Requests[c.Request].Clock); why != "" {
			found = append(found, changeViolation("Slot", h, i, "VolumeSnapshot %s was created, but %s", s.Name, why))
		}
	}
	return found
}

// slotRules is everything in a history that makes slots, by UID of the schedule or PVC.
type slotRules struct {
	// schedules are the UIDs that a series may belong to: all that had a name, if it is one by labels.
	schedules map[types.UID][]types.UID
	created   map[types.UID]time.Time
	specs     map[types.UID][]*Spec
	requested map[types.UID][]request
	// names are those of the objects.
	names map[types.UID]string
}

func slotRulesOf(h *history.History) slotRules {
	rules := slotRules{
		map[types.UID][]types.UID{}, map[types.UID]time.Time{}, map[types.UID][]*Spec{}, map[types.UID][]request{}, map[types.UID]string{},
	}
	for _, c := range h.Changes {
		if _, snapshot := c.After.(*snapshotv1.VolumeSnapshot); c.After == nil || snapshot {
			continue
		}
		uid := c.After.GetUID()
		rules.created[uid] = c.After.GetCreationTimestamp().Time
		rules.names[uid] = c.After.GetName()
		s, ok := c.After.(*v1alpha1.SnapshotSchedule)
		if ok {
			if r, requested := requestOf(s); requested {
				rules.requested[uid] = append(rules.requested[uid], r)
			}
		}
		if ok && c.Before == nil {
			name := byLabels(s.Namespace, s.Name)
			rules.schedules[uid], rules.schedules[name] = []types.UID{uid}, append(rules.schedules[name], uid)
		}
		if !ok || c.Before != nil && c.Before.GetGeneration() == s.Generation {
			continue
		}
		if spec, err := ReadSpec(&s.Spec); err == nil {
			rules.specs[uid] = append(rules.specs[uid], spec)
		}
	}
	return rules
}

func (rules slotRules) refusal(s *snapshotv1.VolumeSnapshot, clock time.Time) string {
	slot, err := time.Parse(time.RFC3339, s.Annotations[v1alpha1.AnnotationScheduledAt])
	if err != nil {
		return "its slot is malformed"
	}
	why := ""
	for _, schedule := range rules.schedules[seriesOf(s).schedule] {
		if why = rules.refusalUnder(schedule, s, slot, clock); why == "" {
			return ""
		}
	}
	return why
}

func (rules slotRules) refusalUnder(schedule types.UID, s *snapshotv1.VolumeSnapshot, slot, clock time.Time) string {
	claim := types.UID(s.Labels[v1alpha1.LabelMapKey])
	anchor := later(rules.created[schedule], rules.created[claim])
	requested := func(r request) bool { return r.at.Equal(slot) && r.isFor(rules.names[claim]) }
	switch {
	case slot.After(clock):
		return "its slot is in the future"
	case slot.Before(anchor):
		return "its slot is before the anchor"
	case slices.ContainsFunc(rules.requested[schedule], requested),
		slices.ContainsFunc(rules.specs[schedule], func(spec *Spec) bool { return spec.mayBeSlot(slot, anchor) }):
		return ""
	}
	return fmt.Sprintf("%s is not a slot of its schedule", slot.Format(time.RFC3339))
}
