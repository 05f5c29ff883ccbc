// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"fmt"
	"path"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ReactionTime is within what time a due snapshot must be created and an expired one deleted, on a busy machine.
const ReactionTime = 10 * time.Second

// Late returns what was overdue all the time from one state to a later one, at least ReactionTime after it, for the PVCs that are not
// broken (L3). broken is a pattern of namespace and name, as for path.Match.
func Late(then, now []client.Object, at time.Time, broken string) []string {
	return delays(stateOf(then), stateOf(now), at, broken)
}

func delays(then, now *state, at time.Time, broken string) (found []string) {
	fail := func(format string, args ...any) {
		found = append(found, fmt.Sprintf(format, args...)+", while PVC "+broken+" was broken")
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
			earlier, current := evaluate(before, spec, at.Add(-ReactionTime)), evaluate(after, spec, at)
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

// latestDue returns the latest slot that was due for the whole of ReactionTime, for every jitter offset; zero if none was.
func (spec *Spec) latestDue(v *view, at time.Time) time.Time {
	anchor, by := Anchor(v.schedule, v.claim), at.Add(-ReactionTime)
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
