// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"slices"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/history"
)

// S9: imported snapshots are never deleted as uncut ones. Only age, tiers and a cap delete them; tiers and a cap only ready ones. S2 judges
// the same deletes by all of retention; this is the rule alone.
func S9(h *history.History) []Violation {
	var found []Violation
	eachDeletion(h, func(d deletion, st *state) {
		if !isImported(d.snapshot) || seriesOf(d.snapshot).schedule == "" {
			return
		}
		if !slices.ContainsFunc(d.views(h, st), func(v *view) bool { return v.mayDeleteImported(d.snapshot) }) {
			found = append(found, d.violation("S9", ", which was imported and is neither beyond a TTL nor ready under tiers or a cap"))
		}
	})
	return found
}

func (v *view) mayDeleteImported(s *snapshotv1.VolumeSnapshot) bool {
	if v.schedule == nil {
		return false
	}
	spec, err := ReadSpec(&v.schedule.Spec)
	if err != nil {
		return false
	}
	if isReady(s) && (spec.keep != v1alpha1.Keep{} || spec.maxCount > 0) {
		return true
	}
	return slices.ContainsFunc(v.times(), func(now time.Time) bool {
		e := evaluate(v, spec, now)
		ttl, _ := e.limits()
		return ttl > 0 && !e.withinTTL(s, ttl)
	})
}
