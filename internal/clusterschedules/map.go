// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterschedules

import (
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
)

// reasonNoSnapshotsLeft is the reason for which the child of a namespace is deleted
// that is no longer selected.
const reasonNoSnapshotsLeft = "NoSnapshotsLeft"

// mapNamespace decides about the child of a selected namespace.
func (p *program) mapNamespace(seen mapcontroller.Observation) mapcontroller.Decision {
	want, child := p.newChild(seen.MapKey), p.childOf(seen)
	p.confirm(want, child)
	p.request(want)
	return mapcontroller.Decision{Ensure: []mapcontroller.Desired{{Object: want}}, Status: p.statusOf(seen.MapKey, want, child, false)}
}

// tombstone decides about the child of a namespace that is no longer selected: it
// takes no snapshots, and stays for its retention until no snapshot is left. If the
// namespace is deleted, its child is deleted with it.
func (p *program) tombstone(seen mapcontroller.Observation) mapcontroller.Decision {
	child := p.childOf(seen)
	if child == nil || len(seen.Unselected) == 0 || seen.Unselected[0].GetDeletionTimestamp() != nil {
		return mapcontroller.Decision{}
	}
	want := p.newChild(seen.MapKey)
	want.Spec.Suspend = true
	p.confirm(want, child)
	d := mapcontroller.Decision{Status: p.statusOf(seen.MapKey, want, child, true)}
	// The cache may lag, and counts are no proof: left.go looks for snapshots live before
	// the delete.
	if meets(want, child) && observed(child) && holdsNone(child) {
		d.Delete = []mapcontroller.Removal{{Object: child, Reason: reasonNoSnapshotsLeft}}
	} else {
		d.Ensure = []mapcontroller.Desired{{Object: want}}
	}
	return d
}

// holdsNone returns whether a child counts neither snapshots nor group snapshots.
func holdsNone(child *schedule) bool {
	groups := child.Status.Outputs.VolumeGroupSnapshots
	return child.Status.Outputs.VolumeSnapshots.Total == 0 && (groups == nil || groups.Total == 0)
}

// childOf returns the child among the outputs of a key, or nil.
func (p *program) childOf(seen mapcontroller.Observation) *schedule {
	for _, o := range seen.Outputs {
		if isChild(p.fleet, o) && o.GetNamespace() == seen.MapKey {
			return o.(*schedule)
		}
	}
	return nil
}
