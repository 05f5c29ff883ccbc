// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"fmt"
	"slices"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
)

// Late returns what was due at least so long before a time, and is not done.
func Late(st *State, at time.Time, within time.Duration) (found []string) {
	for _, s := range st.Schedules {
		for _, e := range st.allSeries(s, at) {
			earlier := st.series(e.Spec, s, e.mapKey, at.Add(-within))
			if slot := earlier.latestDue(); earlier.lacks(slot) && e.lacks(slot) && (e.ttl == 0 || e.now.Sub(slot) < e.ttl) {
				found = append(found, fmt.Sprintf("PVC %s got no snapshot for slot %s", e.claim.Name, slot.UTC().Format(time.RFC3339)))
			}
			for _, v := range e.snapshots {
				if earlier.mustBeDeleted(v) && e.mustBeDeleted(v) {
					found = append(found, fmt.Sprintf("VolumeSnapshot %s was not deleted", v.Name))
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
