// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"fmt"
	"path"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/history"
)

const (
	// reactionTime is within what time a due snapshot must be created and an expired one deleted, on a busy machine.
	reactionTime = 10 * time.Second
	// samples is how often a window is judged.
	samples = 20
)

// L3: while one PVC cannot be snapshotted, snapshots of the others are taken and deleted in time. Only a window that is longer than
// reactionTime, and free of other faults for as long, can be judged. And no list has more objects than a page: one namespace must not
// exhaust the operator's memory.
func L3(h *history.History) []Violation {
	var found []Violation
	judged, windows := false, 0
	for _, w := range h.Windows {
		if w.Kind != history.Broken {
			continue
		}
		windows++
		first, end := w.From.Add(reactionTime), endOf(w, h)
		for i := range samples {
			at := end.Add(-end.Sub(first) * time.Duration(i) / samples)
			if at.Before(first) {
				break
			}
			judged = true
			if !disturbed(h, at.Add(-reactionTime), at, history.Faulty, history.Skewed, history.Unsynced) {
				found = append(found, delays(h, at, w.Object)...)
			}
		}
	}
	if windows > 0 && !judged {
		found = append(found, Violation{Oracle: "L3", At: h.Ended, Change: -1, Request: -1, Message: fmt.Sprintf(
			"no PVC was broken for longer than %s, so that nothing could be judged", reactionTime)})
	}
	seen := map[string]bool{}
	found = append(found, unpagedLists(h)...)
	return slices.DeleteFunc(found, func(v Violation) bool { // keep the first report of each object
		had := seen[v.Message]
		seen[v.Message] = true
		return had
	})
}

// tenants are the resources of which one namespace may have any number.
var tenants = []string{"persistentvolumeclaims", "volumesnapshots", "snapshotschedules"}

func unpagedLists(h *history.History) []Violation {
	var found []Violation
	for i := range h.Requests {
		if r := &h.Requests[i]; r.Unpaged && slices.Contains(tenants, r.Resource) {
			found = append(found, requestViolation("L3", h, i, "was not limited to a page"))
		}
	}
	return found
}

// delays returns what was overdue at a time for the PVCs that are not broken.
func delays(h *history.History, at time.Time, broken string) []Violation {
	then, _ := stateAt(h, at.Add(-reactionTime))
	now, last := stateAt(h, at)
	var found []Violation
	fail := func(format string, args ...any) {
		found = append(found, Violation{Oracle: "L3", At: at, Change: last, Request: -1,
			Message: fmt.Sprintf(format, args...) + ", while PVC " + broken + " was broken"})
	}
	for uid, schedule := range now.schedules {
		was := then.schedules[uid]
		if was == nil || was.Generation != schedule.Generation || schedule.DeletionTimestamp != nil {
			continue
		}
		spec, err := ReadSpec(&schedule.Spec)
		if err != nil {
			continue
		}
		for claimUID, claim := range now.claims {
			excused, _ := path.Match(broken, claim.Namespace+"/"+claim.Name)
			if excused || claim.Namespace != schedule.Namespace || then.claims[claimUID] == nil {
				continue
			}
			id := seriesID{schedule: uid, mapKey: string(claimUID)}
			before, after := then.view(id), now.view(id)
			if slot, ok := spec.uncoveredSlot(before, after, at); ok {
				fail("PVC %s/%s got no snapshot for slot %s", claim.Namespace, claim.Name, slot.UTC().Format(time.RFC3339))
			}
			earlier, current := evaluate(before, spec, at.Add(-reactionTime)), evaluate(after, spec, at)
			for _, s := range after.series {
				if earlier.mustBeDeleted(s.Name) && current.mustBeDeleted(s.Name) {
					fail("VolumeSnapshot %s/%s was not deleted", s.Namespace, s.Name)
				}
			}
		}
	}
	return found
}

// uncoveredSlot returns a slot that was due throughout and has no snapshot, although nothing blocked it.
func (spec *Spec) uncoveredSlot(then, now *view, at time.Time) (time.Time, bool) {
	slot := spec.latestDue(then, at)
	for _, v := range []*view{then, now} {
		e := evaluate(v, spec, at)
		if !e.selected() || v.claim.DeletionTimestamp != nil || v.claim.Status.Phase != corev1.ClaimBound ||
			slot.IsZero() || !newestSlot(v.series, at).Before(slot) {
			return slot, false
		}
		for _, s := range v.series {
			if isUncut(s) || e.inProgress(s) {
				return slot, false
			}
		}
	}
	return slot, true
}

// latestDue returns the latest slot that was due for the whole of reactionTime, for every jitter offset; zero if none was.
func (spec *Spec) latestDue(v *view, at time.Time) time.Time {
	anchor, by := Anchor(v.schedule, v.claim), at.Add(-reactionTime)
	var slot time.Time
	if r, ok := requestOf(v.schedule); ok && r.isFor(v.claim.Name) && !r.at.Before(anchor) && !r.at.After(by) {
		slot = later(slot, r.at)
	}
	if !spec.suspend && (spec.interval > 0 || spec.zone == time.UTC) { // no changes of a zone's clock
		if tick, ok := spec.LatestSlot(anchor, by); ok {
			slot = later(slot, tick)
		}
	}
	age := at.Sub(slot)
	if spec.TTL > 0 && age >= spec.TTL || spec.StartingDeadline > 0 && age >= spec.StartingDeadline {
		return time.Time{}
	}
	return slot
}
