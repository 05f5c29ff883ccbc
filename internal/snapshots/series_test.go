// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/retention"
)

// Contract: RET-1.
func TestSnapshotsOf(t *testing.T) {
	notReady := uploading(time.Hour)
	notReady.Status.ReadyToUse = ptr.To(false)
	base := retention.Snapshot{Name: "1h0m0s", Created: ago(time.Hour), ScheduledAt: ago(time.Hour)}
	with := func(change func(*retention.Snapshot)) retention.Snapshot {
		s := base
		change(&s)
		return s
	}
	cut := func(s *retention.Snapshot) { s.HasCutTime, s.CutTime = true, ago(time.Hour) }
	tests := map[string]struct {
		snapshot  snapshotBuilder
		restoring map[string]bool
		want      retention.Snapshot
	}{
		"no status":     {snapshot: uncut(time.Hour), want: base},
		"cut":           {snapshot: uploading(time.Hour), want: with(cut)},
		"ready":         {snapshot: ready(time.Hour), want: with(func(s *retention.Snapshot) { cut(s); s.ReadyToUse = true })},
		"not ready":     {snapshot: notReady, want: with(cut)},
		"in error":      {snapshot: erring(time.Hour), want: with(func(s *retention.Snapshot) { cut(s); s.HasError = true })},
		"being deleted": {snapshot: uncut(time.Hour).deleting(), want: with(func(s *retention.Snapshot) { s.Deleting = true })},
		"held":          {snapshot: uncut(time.Hour).held(), want: with(func(s *retention.Snapshot) { s.HeldUntil = retention.Forever })},
		"held until a time": {
			snapshot: uncut(time.Hour).heldUntil("2027-03-04T05:06:07.5+02:00"),
			want:     with(func(s *retention.Snapshot) { s.HeldUntil = time.Date(2027, 3, 4, 3, 6, 7, 500_000_000, time.UTC) }),
		},
		"held until a day, which is no time": {
			snapshot: uncut(time.Hour).heldUntil("2027-03-04"), want: with(func(s *retention.Snapshot) { s.HeldUntil = retention.Forever }),
		},
		"held beyond the last year that RFC 3339 knows": {
			snapshot: uncut(time.Hour).heldUntil("9999-12-31T23:59:59-12:00"),
			want:     with(func(s *retention.Snapshot) { s.HeldUntil = retention.Forever }),
		},
		"drills": {
			snapshot: uncut(time.Hour).verified("2026-06-15T13:30:00.5+02:00").verifyFailed("2026-06-14T12:00:00Z checksum: differs"),
			want: with(func(s *retention.Snapshot) {
				s.VerifiedAt, s.VerifyFailedAt = ago(30*time.Minute-500*time.Millisecond), ago(day)
			}),
		},
		"a failed drill without a reason": {
			snapshot: uncut(time.Hour).verifyFailed(rfc3339(ago(day))), want: with(func(s *retention.Snapshot) { s.VerifyFailedAt = ago(day) }),
		},
		"malformed drills":     {snapshot: uncut(time.Hour).verified("yesterday").verifyFailed("2026-06-14 no zone"), want: base},
		"drills of many bytes": {snapshot: uncut(time.Hour).verified(rfc3339(noon) + long(9999, 1)).verifyFailed(long(9999, 1)), want: base},
		"a drill with a blank": {snapshot: uncut(time.Hour).verified(rfc3339(noon) + " ").verifyFailed(" " + rfc3339(noon)), want: base},
		"restoring": {
			snapshot: uncut(time.Hour), restoring: map[string]bool{"1h0m0s": true},
			want: with(func(s *retention.Snapshot) { s.Restoring = true }),
		},
		"another is restoring": {snapshot: uncut(time.Hour), restoring: map[string]bool{"2h0m0s": true}, want: base},
		"held and restoring": {
			snapshot: ready(time.Hour).held(), restoring: map[string]bool{"1h0m0s": true},
			want: with(func(s *retention.Snapshot) {
				cut(s)
				s.ReadyToUse = true
				s.HeldUntil, s.Restoring = retention.Forever, true
			}),
		},
		"imported":               {snapshot: imported(time.Hour), want: with(func(s *retention.Snapshot) { s.ScheduledAt = time.Time{}; s.Imported = true })},
		"no scheduled-at":        {snapshot: uncut(time.Hour).unscheduled(), want: with(func(s *retention.Snapshot) { s.ScheduledAt = time.Time{} })},
		"malformed scheduled-at": {snapshot: uncut(time.Hour).scheduledAt("x"), want: with(func(s *retention.Snapshot) { s.ScheduledAt = time.Time{} })},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := snapshotsOf([]client.Object{tc.snapshot.VolumeSnapshot}, tc.restoring)[0]; got != tc.want {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
		})
	}
}

// Contract: MAP-9.
func TestCovers(t *testing.T) {
	ofOther := ready(time.Hour)
	ofOther.Spec.Source.PersistentVolumeClaimName = ptr.To("other")
	ofContent := ready(time.Hour)
	ofContent.Spec.Source.PersistentVolumeClaimName = nil
	tests := map[string]struct {
		existing snapshotBuilder
		want     bool
	}{
		"its slot and PVC":              {ready(time.Hour), true},
		"its slot in another time zone": {ready(time.Hour).scheduledAt("2026-06-15T13:00:00+02:00"), true},
		"another slot":                  {ready(time.Hour).scheduledAt(rfc3339(ago(2 * time.Hour))), false},
		"no slot":                       {ready(time.Hour).unscheduled(), false},
		"another PVC":                   {ofOther, false},
		"of a content":                  {ofContent, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := covers(uncut(time.Hour).VolumeSnapshot, tc.existing.VolumeSnapshot); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

func TestConditions(t *testing.T) {
	for name, tc := range map[string]struct {
		snapshot snapshotBuilder
		want     bool
	}{
		"ready": {ready(0), true}, "uncut": {uncut(0), false}, "uploading": {uploading(0), false}, "in error": {erring(0), false},
	} {
		got := conditions(tc.snapshot.VolumeSnapshot)
		if len(got) != 1 || got[0].Type != "Ready" || (got[0].Status == metav1.ConditionTrue) != tc.want {
			t.Errorf("%s: got %v, want %v", name, got, tc.want)
		}
	}
}
