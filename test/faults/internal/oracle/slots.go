// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// anchorOf is from when a PVC is under a schedule.
func anchorOf(schedule *v1alpha1.SnapshotSchedule, claim *corev1.PersistentVolumeClaim) time.Time {
	if claim.CreationTimestamp.After(schedule.CreationTimestamp.Time) {
		return claim.CreationTimestamp.Time
	}
	return schedule.CreationTimestamp.Time
}

func newestSlot(series []*snapshotv1.VolumeSnapshot, now time.Time) time.Time {
	var newest time.Time
	for _, s := range series {
		if slot := slotOf(s, now); slot.After(newest) {
			newest = slot
		}
	}
	return newest
}

// slotMayBeDue tells whether a slot may be due for a PVC: with jitter, whatever
// its offset.
func slotMayBeDue(
	t *terms, schedule *v1alpha1.SnapshotSchedule, claim *corev1.PersistentVolumeClaim,
	series []*snapshotv1.VolumeSnapshot, now time.Time,
) bool {
	served, anchor := newestSlot(series, now), anchorOf(schedule, claim)
	due := func(slot time.Time) bool {
		age := now.Sub(slot)
		return slot.After(served) && age >= 0 && (t.ttl == 0 || age < t.ttl) && (t.startDeadline == 0 || age < t.startDeadline)
	}
	for _, o := range []client.Object{schedule, claim} {
		if at, ok := requestedAt(o); ok && !at.Before(anchor) && due(at) {
			return true
		}
	}
	if t.suspend || now.Before(anchor) {
		return false
	}
	latest, ok := t.latestSlot(anchor, served, now)
	return ok && due(latest)
}

// latestSlot is the latest time up to now that may be a slot, if there is one
// after served.
func (t *terms) latestSlot(anchor, served, now time.Time) (time.Time, bool) {
	var base time.Time
	if t.interval > 0 {
		base = anchor.Add(now.Sub(anchor).Truncate(t.interval))
	} else {
		limit := served
		if limit.Before(anchor) {
			limit = anchor
		}
		var ok bool
		if base, ok = t.cron.lastFiring(now, limit.Add(-t.jitter), t.zone); !ok {
			return base, false
		}
	}
	if latest := base.Add(max(t.jitter-1, 0)); latest.Before(now) {
		return latest, true
	}
	if t.jitter > 0 {
		return now, true
	}
	return base, true
}

func requestedAt(o client.Object) (time.Time, bool) {
	at, err := time.Parse(time.RFC3339, o.GetAnnotations()[v1alpha1.AnnotationRequestedAt])
	return at.Truncate(time.Second), err == nil
}
