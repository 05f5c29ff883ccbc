// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"fmt"
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

// slotIDOf fails for a snapshot that no schedule controls, or that tells no
// slot.
func slotIDOf(s *snapshotv1.VolumeSnapshot) (slotID, bool) {
	at, err := time.Parse(time.RFC3339, s.Annotations[v1alpha1.AnnotationScheduledAt])
	id := slotID{seriesID: seriesOf(s), slot: at.Unix()}
	return id, err == nil && id.schedule != "" && id.mapKey != ""
}

// spending is the controller's own delete of a slot's snapshot, for good.
type spending struct {
	name       string
	generation int64
	// clock is what the controller's clock showed.
	clock time.Time
}

// S4: for a schedule, a PVC and a slot there is at most one snapshot at any
// time, and the controller takes it again only if someone else deleted it, or if
// it was uncut when the controller deleted it. Where the spec was changed since,
// or the PVC was detached when it was deleted and matches again, the slot is due
// by the contract, and may be taken again too. So is a slot that a clock ahead of
// time took, and that was deleted before it came: it has never been served; and
// one that a clock comes to once more which was set back to before the delete.
func S4(h *history.History) []Violation {
	var found []Violation
	there := map[slotID]map[types.UID]string{} // names by UID
	spent := map[slotID]spending{}
	replay(h, func(i int, w *world) {
		c := &h.Changes[i]
		if d, ok := deletionAt(h, i); ok && !isUncut(d.doomed) {
			if id, ok := slotIDOf(d.doomed); ok && w.selects(id.seriesID) && !time.Unix(id.slot, 0).After(d.at) {
				spent[id] = spending{
					name: d.doomed.Name, generation: w.schedules[id.schedule].Generation, clock: clockAt(d.request, d.at),
				}
			}
		}
		before, _ := c.Before.(*snapshotv1.VolumeSnapshot)
		after, _ := c.After.(*snapshotv1.VolumeSnapshot)
		if before != nil {
			if id, ok := slotIDOf(before); ok {
				delete(there[id], before.UID)
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
			if why := w.takenTwice(id, there[id], spent[id], clockAt(&h.Requests[c.Request], c.At)); why != "" {
				found = append(found, Violation{Oracle: "S4", At: c.At, Change: i, Request: c.Request, Message: fmt.Sprintf(
					"VolumeSnapshot %s/%s was created for slot %s, %s", after.Namespace, after.Name,
					time.Unix(id.slot, 0).UTC().Format(time.RFC3339), why)})
			}
		}
		if there[id] == nil {
			there[id] = map[types.UID]string{}
		}
		there[id][after.UID] = after.Name
	})
	return found
}

// clockAt is what the controller's clock showed when it sent a request.
func clockAt(r *history.Request, committed time.Time) time.Time {
	if r.Clock.IsZero() {
		return committed
	}
	return r.Clock
}

func (w *world) takenTwice(id slotID, there map[types.UID]string, spent spending, clock time.Time) string {
	for _, name := range there {
		return "which " + name + " serves"
	}
	schedule := w.schedules[id.schedule]
	if spent.name != "" && !clock.Before(spent.clock) && (schedule == nil || schedule.Generation == spent.generation) {
		return "which " + spent.name + " had served until the controller deleted it"
	}
	return ""
}

// selects tells whether a series belongs to a PVC that its schedule selects.
func (w *world) selects(id seriesID) bool {
	v := w.view(id)
	if v.schedule == nil {
		return false
	}
	t, err := readTerms(&v.schedule.Spec)
	return err == nil && (&question{view: v, terms: t}).selected()
}
