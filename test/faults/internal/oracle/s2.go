// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"fmt"
	"slices"
	"strings"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/history"
)

// S2: no snapshot is deleted before retention allows it, judged on what the API
// server held at the guards' live reads, which must have been made.
func S2(h *history.History) []Violation {
	var found []Violation
	eachDeletion(h, func(d deletion, w *world) {
		if seriesOf(d.doomed).schedule == "" {
			return // S1
		}
		views := d.views(h, w)
		if why := d.refusal(views); why != "" {
			found = append(found, d.violation("S2", fmt.Sprintf("%s was deleted, but %s", d.name(), why)))
		}
		if missing := d.unread(h, views); missing != "" {
			found = append(found, d.violation("S2", fmt.Sprintf(
				"%s was deleted without a live read of %s in the %s before", d.name(), missing, guardsWindow)))
		}
	})
	return found
}

func (d deletion) name() string {
	return fmt.Sprintf("VolumeSnapshot %s/%s", d.doomed.Namespace, d.doomed.Name)
}

// refusal is why no view allows a delete; empty if one does.
func (d deletion) refusal(views []*view) string {
	var reasons []string
	for _, v := range views {
		for _, at := range v.moments() {
			allowed, why := v.mayDelete(d.doomed, at)
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

// unread is what a decision rests on and was not read live; empty if all was.
func (d deletion) unread(h *history.History, views []*view) string {
	reads := d.reads(h)
	schedule := d.doomed.Labels[v1alpha1.LabelSchedule]
	if !wasRead(reads, d.doomed.Namespace, "snapshotschedules", schedule) {
		return "SnapshotSchedule " + schedule
	}
	claim := ""
	if name := d.doomed.Spec.Source.PersistentVolumeClaimName; name != nil {
		claim = *name
	}
	for _, v := range views {
		if v.claim != nil {
			claim = v.claim.Name
		}
	}
	if !wasRead(reads, d.doomed.Namespace, "persistentvolumeclaims", claim) {
		return "PVC " + claim
	}
	if !isReady(d.doomed) {
		return ""
	}
	missing := ""
	looked := d.looked(h).Add(d.ahead())
	for _, v := range views {
		// A moment at which there was no floor yet is no excuse: the delete was
		// not allowed then, or it was before the guards looked.
		if v.until.Before(looked) || !v.allows(d.doomed) {
			continue
		}
		unread := d.unreadFloor(reads, v)
		if unread == "" {
			return ""
		}
		missing = "VolumeSnapshot " + unread + ", which is of the floor"
	}
	return missing
}

func (v *view) allows(doomed *snapshotv1.VolumeSnapshot) bool {
	return slices.ContainsFunc(v.moments(), func(at time.Time) bool {
		allowed, _ := v.mayDelete(doomed, at)
		return allowed
	})
}

// unreadFloor is the name of the newest survivor that was not read live, if too
// few were that are ready and newer than what was deleted: a cache that lacks
// the newest one may take older ones for the floor, and deletes no more by it.
func (d deletion) unreadFloor(reads []*history.Request, v *view) string {
	if v.schedule == nil {
		return ""
	}
	t, err := readTerms(&v.schedule.Spec)
	if err != nil {
		return ""
	}
	unread, left := "", v.floorOf(t)
	for _, s := range readyOnes(newestFirst(v.series, v.until)) {
		if s == d.doomed || left <= 0 {
			break
		}
		if wasRead(reads, d.doomed.Namespace, "volumesnapshots", s.Name) {
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
