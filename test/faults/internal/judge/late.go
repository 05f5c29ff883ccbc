// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"fmt"
	"path"
	"slices"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
)

// ReactionTime is within what time a due snapshot must be created and an expired one deleted, on a busy machine.
const ReactionTime = 10 * time.Second

// Late returns what was overdue all the time from one state to a later one, at least so long after it, for the PVCs that are not broken
// (L3). broken is a pattern of their names, as for path.Match; empty if none is.
func Late(before, after *State, at time.Time, within time.Duration, broken string) (found []string) {
	for _, s := range after.Schedules {
		was := withUID(before.Schedules, s.UID)
		if was == nil || was.Generation != s.Generation {
			continue
		}
		for _, e := range after.allSeries(s, at) {
			earlier := before.series(e.Spec, was, e.mapKey, at.Add(-within))
			excused := (earlier.claim == nil) != (e.claim == nil)
			if e.claim != nil && !excused {
				excused, _ = path.Match(broken, e.claim.Name)
			}
			if excused {
				continue
			}
			if slot := earlier.latestDue(); earlier.lacks(slot) && e.lacks(slot) && (e.ttl == 0 || e.now.Sub(slot) < e.ttl) {
				found = append(found, fmt.Sprintf("PVC %s/%s got no snapshot for slot %s", s.Namespace, e.claim.Name, slot.UTC().Format(time.RFC3339)))
			}
			for _, v := range e.snapshots {
				if had := withUID(earlier.snapshots, v.UID); had != nil && earlier.mustBeDeleted(had) && e.mustBeDeleted(v) {
					found = append(found, fmt.Sprintf("VolumeSnapshot %s/%s was not deleted", v.Namespace, v.Name))
				}
			}
		}
	}
	slices.Sort(found)
	return found
}

// Unready returns the newest snapshots of PVCs that existed at a time and are not ready.
func Unready(st *State, since time.Time) (names []string) {
	for _, s := range st.Schedules {
		for _, e := range st.allSeries(s, time.Now()) {
			if v := e.newest(); v != nil && e.takes() && !IsReady(v) && v.CreationTimestamp.Time.Before(since) {
				names = append(names, v.Name)
			}
		}
	}
	return names
}

// latestDue returns the latest slot that is due; zero if none is.
func (e *series) latestDue() (slot time.Time) {
	if e.claim == nil {
		return slot
	}
	if at := e.requested(); !at.After(e.now) {
		slot = at
	}
	if !e.suspend {
		slot = later(slot, e.latestSlot(time.Time{}, e.now))
	}
	return slot
}

// lacks returns whether the PVC has no snapshot for a slot, although nothing blocks it.
func (e *series) lacks(slot time.Time) bool {
	return e.takes() && e.newestSlot().Before(slot) && !slices.ContainsFunc(e.snapshots, func(s *snapshotv1.VolumeSnapshot) bool {
		return isUncut(s) || e.inProgress(s)
	})
}
