// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"fmt"
	"path"
	"slices"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ReactionTime is within what time a due snapshot must be created and an expired one deleted, on a busy machine.
const ReactionTime = 10 * time.Second

// Overdue returns the names of the snapshots that should have been deleted by a time.
func Overdue(objects []client.Object, now time.Time) (names []string) {
	st := stateOf(objects)
	for _, s := range st.schedules {
		for _, e := range st.allSeries(s, now) {
			for _, v := range e.snapshots {
				if e.mustBeDeleted(v) {
					names = append(names, v.Name)
				}
			}
		}
	}
	slices.Sort(names)
	return names
}

// Late returns what was overdue all the time from one state to a later one, at least ReactionTime after it, for the PVCs that are not
// broken (L3). broken is a pattern of namespace and name, as for path.Match.
func Late(then, now []client.Object, at time.Time, broken string) (found []string) {
	before, after := stateOf(then), stateOf(now)
	fail := func(format string, args ...any) {
		found = append(found, fmt.Sprintf(format, args...)+", while PVC "+broken+" was broken")
	}
	for _, s := range after.schedules {
		was := withUID(before.schedules, s.UID)
		if was == nil || was.Generation != s.Generation {
			continue
		}
		for _, e := range after.allSeries(s, at) {
			if e.claim == nil || before.claims[e.claim.UID] == nil {
				continue
			}
			name := e.claim.Namespace + "/" + e.claim.Name
			if excused, _ := path.Match(broken, name); excused {
				continue
			}
			earlier := before.series(e.Spec, was, string(e.claim.UID), at.Add(-ReactionTime))
			if slot := earlier.latestDue(); earlier.lacks(slot) && e.lacks(slot) && !e.tooOld(slot) {
				fail("PVC %s got no snapshot for slot %s", name, slot.UTC().Format(time.RFC3339))
			}
			for _, v := range e.snapshots {
				if had := withUID(earlier.snapshots, v.UID); had != nil && earlier.mustBeDeleted(had) && e.mustBeDeleted(v) {
					fail("VolumeSnapshot %s/%s was not deleted", v.Namespace, v.Name)
				}
			}
		}
	}
	return found
}

// latestDue returns the latest slot that is due, for every jitter offset; zero if none is.
func (e *series) latestDue() (slot time.Time) {
	if at := e.requested(); !at.After(e.now) {
		slot = at
	}
	if !e.suspend && (e.interval > 0 || e.zone == time.UTC) { // no changes of a zone's clock
		if tick, ok := e.LatestSlot(Anchor(e.schedule, e.claim), e.now); ok {
			slot = later(slot, tick)
		}
	}
	return slot
}

// lacks returns whether the PVC has no snapshot for a slot, although nothing blocks it.
func (e *series) lacks(slot time.Time) bool {
	return e.takes() && e.newestSlot().Before(slot) && !slices.ContainsFunc(e.snapshots, func(s *snapshotv1.VolumeSnapshot) bool {
		return isUncut(s) || e.inProgress(s)
	})
}
