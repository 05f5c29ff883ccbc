// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	"k8s.io/apimachinery/pkg/types"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/history"
)

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

// ownDelete is the operator's own delete of a slot's snapshot.
type ownDelete struct {
	name       string
	schedule   types.UID
	generation int64
	// clock is the operator's clock then.
	clock time.Time
}

// S4: at any time there is at most one snapshot for a schedule, a PVC and a slot, and the operator creates it again only if someone else
// deleted it, or if it was uncut when the operator deleted it. By the contract a slot is due again too if
//   - the spec has changed since the delete, or the operator that creates it decided by another one than that of the delete: its cache
//     did not hold that yet,
//   - the PVC was detached then and is selected again,
//   - a clock that was ahead took it, and it was deleted before its time came,
//   - the operator's clock was set back to before the delete.
func S4(h *history.History) []Violation { return s4(h).Violations }

func s4(h *history.History) (found Findings) {
	existing := map[slotID]map[types.UID]string{} // names by UID
	deleted := map[slotID]ownDelete{}
	replay(h, func(i int, st *state) {
		c := &h.Changes[i]
		if d, ok := deletionAt(h, i); ok && !isUncut(d.snapshot) {
			if id, ok := slotIDOf(d.snapshot); ok && st.selects(id.seriesID) && !time.Unix(id.slot, 0).After(d.at) {
				s := st.scheduleOf(id.seriesID)
				deleted[id] = ownDelete{name: d.snapshot.Name, schedule: s.UID, generation: s.Generation, clock: clockAt(d.request, d.at)}
			}
		}
		before, _ := c.Before.(*snapshotv1.VolumeSnapshot)
		after, _ := c.After.(*snapshotv1.VolumeSnapshot)
		if before != nil {
			if id, ok := slotIDOf(before); ok {
				delete(existing[id], before.UID)
			}
		}
		if after == nil {
			return
		}
		id, ok := slotIDOf(after)
		if !ok {
			return
		}
		if before == nil && byOperator(h, i) {
			r := &h.Requests[c.Request]
			if why := st.takenTwice(id, existing[id], deleted[id], clockAt(r, c.At)); why != "" {
				v := changeViolation("S4", h, i, "VolumeSnapshot %s/%s was created for slot %s, %s",
					after.Namespace, after.Name, time.Unix(id.slot, 0).UTC().Format(time.RFC3339), why)
				if len(existing[id]) == 0 && deleted[id].unseenBy(h, r, id) {
					found.ByCache = append(found.ByCache, v)
				} else {
					found.Violations = append(found.Violations, v)
				}
			}
		}
		if isImported(after) {
			return // its name does not keep an operator with a late cache from another one
		}
		if existing[id] == nil {
			existing[id] = map[types.UID]string{}
		}
		existing[id][after.UID] = after.Name
	})
	return found
}

// clockAt returns the operator's clock when it sent a request.
func clockAt(r *history.Request, committed time.Time) time.Time {
	if r.Clock.IsZero() {
		return committed
	}
	return r.Clock
}

// takenTwice returns why a slot must not be taken, empty if it may be.
func (st *state) takenTwice(id slotID, existing map[types.UID]string, deleted ownDelete, clock time.Time) string {
	for _, name := range existing {
		return "which " + name + " covers"
	}
	schedule := st.scheduleOf(id.seriesID)
	if deleted.name != "" && !clock.Before(deleted.clock) &&
		(schedule == nil || schedule.UID == deleted.schedule && schedule.Generation == deleted.generation) {
		return "which " + deleted.name + " covered until the operator deleted it"
	}
	return ""
}

// unseenBy returns whether the operator that sent a request had, in its cache, another spec than that under which a snapshot was deleted.
func (deleted ownDelete) unseenBy(h *history.History, r *history.Request, id slotID) bool {
	uid, generation, ok := decidedUnder(h, r, id.seriesID)
	return ok && (uid != deleted.schedule || generation != deleted.generation)
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
