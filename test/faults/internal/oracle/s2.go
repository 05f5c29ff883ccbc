// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"slices"
	"strings"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/history"
)

// S2: no snapshot is deleted before retention allows it, judged on what the API server held at the guards' live reads. These must have
// been sent. What they do not read counts as the operator's cache held it when it decided: the snapshots of the series that do not make up
// the floor, and which PVCs are being restored.
func S2(h *history.History) []Violation { return s2(h).Violations }

func s2(h *history.History) (found Findings) {
	eachDeletion(h, func(d deletion, st *state) {
		if seriesOf(d.snapshot).schedule == "" {
			return // S1
		}
		views := d.views(h, st)
		if why := d.refusal(views); why != "" {
			v := d.violation("S2", ", but %s", why)
			if cached := d.byCache(h, views[0]); cached != nil && cached.allows(d.snapshot) {
				views = append(views, cached)
				found.ByCache = append(found.ByCache, v)
			} else {
				found.Violations = append(found.Violations, v)
			}
		}
		if missing := d.unread(h, views); missing != "" {
			found.Violations = append(found.Violations,
				d.violation("S2", " without a live read of %s in the %s before", missing, guardsWindow))
		}
	})
	return found
}

// refusal returns why no view allows a delete, empty if one does.
func (d deletion) refusal(views []*view) string {
	var reasons []string
	for _, v := range views {
		for _, at := range v.times() {
			allowed, why := v.mayDelete(d.snapshot, at)
			if allowed {
				return ""
			}
			if !slices.Contains(reasons, why) {
				reasons = append(reasons, why)
			}
		}
	}
	return strings.Join(reasons, "; at another moment: ")
}

// unread returns what a delete depends on and was not read live, empty if everything was.
func (d deletion) unread(h *history.History, views []*view) string {
	reads := d.reads(h)
	schedule := d.snapshot.Labels[v1alpha1.LabelSchedule]
	if !wasRead(reads, d.snapshot.Namespace, "snapshotschedules", schedule) {
		return "SnapshotSchedule " + schedule
	}
	claim := ""
	if name := d.snapshot.Spec.Source.PersistentVolumeClaimName; name != nil {
		claim = *name
	}
	for _, v := range views {
		if v.claim != nil {
			claim = v.claim.Name
		}
	}
	if !wasRead(reads, d.snapshot.Namespace, "persistentvolumeclaims", claim) {
		return "PVC " + claim
	}
	if !isReady(d.snapshot) {
		return ""
	}
	missing := ""
	guardsBegan := d.guardsBegan(h).Add(d.clockAhead())
	for _, v := range views {
		// A moment without a floor excuses nothing: the delete was not allowed then, or it was before the guards' reads.
		if v.until.Before(guardsBegan) || !v.allows(d.snapshot) {
			continue
		}
		unread := d.unreadFloor(reads, v)
		if unread == "" {
			return ""
		}
		missing = "VolumeSnapshot " + unread + ", which belongs to the floor"
	}
	return missing
}

func (v *view) allows(s *snapshotv1.VolumeSnapshot) bool {
	return slices.ContainsFunc(v.times(), func(at time.Time) bool {
		allowed, _ := v.mayDelete(s, at)
		return allowed
	})
}

// unreadFloor returns the newest survivor that was not read live, if too few were that are ready and newer than the deleted one. A
// cache that lacks the newest one may count older ones towards the floor: that deletes no more.
func (d deletion) unreadFloor(reads []*history.Request, v *view) string {
	if v.schedule == nil {
		return ""
	}
	spec, err := ReadSpec(&v.schedule.Spec)
	if err != nil {
		return ""
	}
	unread, left := "", v.floorOf(spec)
	for _, s := range readyOnes(newestFirst(v.series, v.until)) {
		if s == d.snapshot || left <= 0 {
			break
		}
		if wasRead(reads, d.snapshot.Namespace, "volumesnapshots", s.Name) {
			left--
		} else if unread == "" {
			unread = s.Name
		}
	}
	if left <= 0 {
		return ""
	}
	return unread
}
