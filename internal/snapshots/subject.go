// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/retention"
)

// subject is what one snapshot is taken of: a PVC, or a group of them.
type subject struct {
	// claim is the PVC, or one of a group.
	claim *corev1.PersistentVolumeClaim
	// claims are those of a group.
	claims []*corev1.PersistentVolumeClaim
	// key is the map key. The jitter is derived from it.
	key string
	// group is the name of a group; empty for a PVC.
	group string
	// anchor is the time from which it is under the schedule.
	anchor time.Time
	// taken is the slot that a group without snapshots has under other keys; see takenElsewhere.
	taken time.Time
	// carried is the slot of the newest snapshot that is older than its PVC, or all PVCs of a group, whose rhythm it
	// keeps, also when that one is gone: a rollback carried it over. Zero: there is none.
	carried time.Time
}

// subjectOf returns a PVC with the snapshots of its series as a subject.
func subjectOf(s *v1alpha1.SnapshotSchedule, claim *corev1.PersistentVolumeClaim, series []retention.Snapshot, now time.Time) subject {
	return subject{
		claim: claim, key: string(claim.UID), anchor: anchorOf(s, claim),
		carried: retention.Rhythm(claim.CreationTimestamp.Time, series, now),
	}
}

// since returns the time from which it has slots.
func (of *subject) since() time.Time {
	if !of.carried.IsZero() {
		return of.carried
	}
	return of.anchor
}

// record returns the UIDs of the PVCs of a group, by name.
func (of *subject) record() map[string]types.UID {
	record := map[string]types.UID{}
	for _, claim := range of.claims {
		record[claim.Name] = claim.UID
	}
	return record
}

// requested returns whether a request is for it.
func (of *subject) requested(r v1alpha1.Request) bool {
	return r.Of(of.claim.Name) ||
		slices.ContainsFunc(of.claims, func(claim *corev1.PersistentVolumeClaim) bool { return r.Of(claim.Name) })
}

// anchorOf returns the time from which a PVC is under a schedule.
func anchorOf(s *v1alpha1.SnapshotSchedule, claim *corev1.PersistentVolumeClaim) time.Time {
	if claim.CreationTimestamp.After(s.CreationTimestamp.Time) {
		return claim.CreationTimestamp.Time
	}
	return s.CreationTimestamp.Time
}
