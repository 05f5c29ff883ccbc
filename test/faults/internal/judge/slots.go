// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"slices"
	"strings"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
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

func newestSlot(series []*snapshotv1.VolumeSnapshot, now time.Time) time.Time {
	var newest time.Time
	for _, s := range series {
		if slot, ok := coveredSlot(s, now); ok {
			newest = later(newest, slot)
		}
	}
	return newest
}

// slotMayBeDue returns whether a slot may be due for a PVC, for some jitter offset.
func slotMayBeDue(
	spec *Spec, schedule *v1alpha1.SnapshotSchedule, claim *corev1.PersistentVolumeClaim,
	series []*snapshotv1.VolumeSnapshot, now time.Time,
) bool {
	covered, anchor := newestSlot(series, now), Anchor(schedule, claim)
	due := func(slot time.Time) bool {
		age := now.Sub(slot)
		return slot.After(covered) && age >= 0 && (spec.TTL == 0 || age < spec.TTL) &&
			(spec.StartingDeadline == 0 || age < spec.StartingDeadline)
	}
	if r, ok := requestOf(schedule); ok && r.isFor(claim.Name) && !r.at.Before(anchor) && due(r.at) {
		return true
	}
	if spec.suspend || now.Before(anchor) {
		return false
	}
	latest, ok := spec.latestPossibleSlot(anchor, covered, now)
	return ok && due(latest)
}

// latestPossibleSlot returns the latest time up to now that is a slot for some jitter offset, if there is one after covered.
func (spec *Spec) latestPossibleSlot(anchor, covered, now time.Time) (time.Time, bool) {
	var base time.Time
	if spec.interval > 0 {
		base = anchor.Add(now.Sub(anchor).Truncate(spec.interval))
	} else {
		var ok bool
		if base, ok = spec.cron.lastFiring(now, later(covered, anchor).Add(-spec.Jitter), spec.zone); !ok {
			return base, false
		}
	}
	if latest := base.Add(max(spec.Jitter-1, 0)); latest.Before(now) {
		return latest, true
	}
	if spec.Jitter > 0 {
		return now, true
	}
	return base, true
}

// LatestSlot returns the latest slot of the interval or the cron line, without its offset, that is due by a time for every offset. It
// is exact unless the zone's clock changes shortly before.
func (spec *Spec) LatestSlot(anchor, by time.Time) (slot time.Time, ok bool) {
	base := by.Add(-spec.Jitter)
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
		return since >= 0 && since%spec.interval < max(spec.Jitter, 1)
	}
	_, ok := spec.cron.lastFiring(at, at.Add(-max(spec.Jitter, 1)), spec.zone)
	return ok && at.After(anchor)
}

// request is the slot that the annotation of a schedule requests, in whole seconds. Without names it is for all PVCs.
type request struct {
	at     time.Time
	claims []string
}

func (r request) isFor(claim string) bool {
	return len(r.claims) == 0 || slices.Contains(r.claims, claim)
}

// requestOf reads the request of a schedule: a time, and after a space the names of PVCs, separated by commas. It returns false if there
// is none, or if it is malformed. That of a PVC counts for nothing.
func requestOf(schedule *v1alpha1.SnapshotSchedule) (r request, ok bool) {
	text, names, some := strings.Cut(schedule.Annotations[v1alpha1.AnnotationRequestedAt], " ")
	at, err := time.Parse(time.RFC3339, text)
	if some {
		r.claims = strings.Split(names, ",")
	}
	r.at = at.Truncate(time.Second)
	return r, err == nil && !slices.Contains(r.claims, "")
}
