// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// Anchor returns the anchor of a PVC under a schedule: the later of the two creation times.
func Anchor(schedule *v1alpha1.SnapshotSchedule, claim *corev1.PersistentVolumeClaim) time.Time {
	return later(schedule.CreationTimestamp.Time, claim.CreationTimestamp.Time)
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// requested returns the slot that the annotation of a schedule requests for a PVC, in whole seconds: a time and, after a space, the names
// of PVCs, separated by commas. Without names it is for all. Zero if there is none, or if the annotation is malformed.
func requested(s *v1alpha1.SnapshotSchedule, claim string) (none time.Time) {
	text, names, some := strings.Cut(s.Annotations[v1alpha1.AnnotationRequestedAt], " ")
	claims := strings.Split(names, ",")
	at, err := time.Parse(time.RFC3339, text)
	if err != nil || some && (slices.Contains(claims, "") || !slices.Contains(claims, claim)) {
		return none
	}
	return at.Truncate(time.Second)
}

// requested returns the slot that is requested for the PVC, zero if there is none or it counts for nothing.
func (e *series) requested() (none time.Time) {
	if at := requested(e.schedule, e.claim.Name); !at.Before(Anchor(e.schedule, e.claim)) {
		return at
	}
	return none
}

// newestSlot returns the newest slot that a snapshot covers.
func (e *series) newestSlot() (newest time.Time) {
	for _, s := range e.snapshots {
		if slot, ok := coveredSlot(s, e.now); ok {
			newest = later(newest, slot)
		}
	}
	return newest
}

// tooOld returns whether a slot is not due any more.
func (e *series) tooOld(slot time.Time) bool {
	age := e.now.Sub(slot)
	return e.ttl > 0 && age >= e.ttl || e.startingDeadline > 0 && age >= e.startingDeadline
}

// mayBeDue returns whether a slot may be due for the PVC, for some jitter offset.
func (e *series) mayBeDue() bool {
	covered, anchor := e.newestSlot(), Anchor(e.schedule, e.claim)
	due := func(slot time.Time) bool { return slot.After(covered) && !slot.After(e.now) && !e.tooOld(slot) }
	if due(e.requested()) {
		return true
	}
	if e.suspend || e.now.Before(anchor) {
		return false
	}
	latest, ok := e.latestPossibleSlot(anchor, covered, e.now)
	return ok && due(latest)
}

// latestPossibleSlot returns the latest time up to now that is a slot for some jitter offset, if there is one after covered.
func (spec *Spec) latestPossibleSlot(anchor, covered, now time.Time) (time.Time, bool) {
	base := anchor.Add(now.Sub(anchor).Truncate(max(spec.interval, 1)))
	if spec.interval == 0 {
		var ok bool
		if base, ok = spec.cron.lastFiring(now, later(covered, anchor).Add(-spec.jitter), spec.zone); !ok {
			return base, false
		}
	}
	if latest := base.Add(max(spec.jitter-1, 0)); latest.Before(now) {
		return latest, true
	}
	if spec.jitter > 0 {
		return now, true
	}
	return base, true
}

// latestSlot returns the latest slot of the interval or the cron line, without its offset, that is due by a time for every offset. It
// is exact unless the zone's clock changes shortly before.
func (spec *Spec) latestSlot(anchor, by time.Time) (slot time.Time, ok bool) {
	base := by.Add(-spec.jitter)
	switch {
	case base.Before(anchor):
		return slot, false
	case spec.interval > 0:
		return anchor.Add(base.Sub(anchor).Truncate(spec.interval)), true
	}
	return spec.cron.lastFiring(base, anchor, spec.zone)
}

// mayBeSlot returns whether a time is a slot of the interval or the cron line, for some jitter offset.
func (spec *Spec) mayBeSlot(at, anchor time.Time) bool {
	if spec.interval > 0 {
		since := at.Sub(anchor)
		return since >= 0 && since%spec.interval < max(spec.jitter, 1)
	}
	_, ok := spec.cron.lastFiring(at, at.Add(-max(spec.jitter, 1)), spec.zone)
	return ok && at.After(anchor)
}
