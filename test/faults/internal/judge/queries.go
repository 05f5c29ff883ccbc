// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"slices"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Overdue returns the names of the snapshots that should have been deleted by a time, by every reading of the contract.
func Overdue(objects []client.Object, now time.Time) []string {
	st := stateOf(objects)
	var names []string
	for id := range st.series {
		v := st.view(id)
		if v.schedule == nil || v.schedule.DeletionTimestamp != nil {
			continue
		}
		spec, err := ReadSpec(&v.schedule.Spec)
		if err != nil {
			continue
		}
		e := evaluate(v, spec, now)
		for _, s := range v.series {
			if e.mustBeDeleted(s.Name) || e.unreadyMustBeDeleted(s) {
				names = append(names, s.Name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names) // a schedule that owns by labels may have a series of each kind
}

// StatusErrors returns where the status of schedules contradicts the objects at a time. A schedule with an invalid spec or under
// deletion has none.
func StatusErrors(objects []client.Object, now time.Time) []string {
	st := stateOf(objects)
	var found []string
	for _, s := range st.schedules {
		found = append(found, st.statusErrors(s, now)...)
	}
	slices.Sort(found)
	return found
}

// Slot returns the slot of a controlled snapshot, zero if it has none.
func Slot(s *snapshotv1.VolumeSnapshot) time.Time {
	id, ok := slotIDOf(s)
	if !ok {
		return time.Time{}
	}
	return time.Unix(id.slot, 0)
}
