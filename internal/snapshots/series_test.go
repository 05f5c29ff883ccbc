// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"testing"
	"time"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/retention"
)

// Contract: RET-1.
func TestSnapshotsOf(t *testing.T) {
	notReady := uploading(time.Hour)
	notReady.Status.ReadyToUse = ptr.To(false)
	heldAndRestoring := ready(time.Hour).held()
	base := retention.Snapshot{Name: "1h0m0s", Created: ago(time.Hour), ScheduledAt: ago(time.Hour)}
	with := func(change func(*retention.Snapshot)) retention.Snapshot {
		s := base
		change(&s)
		return s
	}
	cut := func(s *retention.Snapshot) { s.HasCutTime, s.CutTime = true, ago(time.Hour) }
	tests := map[string]struct {
		snapshot  aSnapshot
		restoring map[string]bool
		want      retention.Snapshot
	}{
		"no status":     {snapshot: uncut(time.Hour), want: base},
		"cut":           {snapshot: uploading(time.Hour), want: with(cut)},
		"ready":         {snapshot: ready(time.Hour), want: with(func(s *retention.Snapshot) { cut(s); s.ReadyToUse = true })},
		"not ready":     {snapshot: notReady, want: with(cut)},
		"in error":      {snapshot: erring(time.Hour), want: with(func(s *retention.Snapshot) { cut(s); s.HasError = true })},
		"being deleted": {snapshot: uncut(time.Hour).deleting(), want: with(func(s *retention.Snapshot) { s.Deleting = true })},
		"held":          {snapshot: uncut(time.Hour).held(), want: with(func(s *retention.Snapshot) { s.Hold = retention.HoldAnnotation })},
		"restoring": {
			snapshot: uncut(time.Hour), restoring: map[string]bool{"1h0m0s": true},
			want: with(func(s *retention.Snapshot) { s.Hold = retention.HoldRestore }),
		},
		"another is restoring": {snapshot: uncut(time.Hour), restoring: map[string]bool{"2h0m0s": true}, want: base},
		"held and restoring": {
			snapshot: heldAndRestoring, restoring: map[string]bool{"1h0m0s": true},
			want: with(func(s *retention.Snapshot) { cut(s); s.ReadyToUse = true; s.Hold = retention.HoldAnnotation }),
		},
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
func TestServed(t *testing.T) {
	other := "other"
	ofOther := ready(time.Hour)
	ofOther.Spec.Source.PersistentVolumeClaimName = &other
	ofContent := ready(time.Hour)
	ofContent.Spec.Source.PersistentVolumeClaimName = nil
	tests := map[string]struct {
		existing aSnapshot
		want     bool
	}{
		"its slot and PVC":      {ready(time.Hour), true},
		"a slot in other words": {ready(time.Hour).scheduledAt("2026-06-15T13:00:00+02:00"), true},
		"another slot":          {ready(time.Hour).scheduledAt(stamp(ago(2 * time.Hour))), false},
		"no slot":               {ready(time.Hour).unscheduled(), false},
		"another PVC":           {ofOther, false},
		"of a content":          {ofContent, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := served(uncut(time.Hour).VolumeSnapshot, tc.existing.VolumeSnapshot); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

func TestTrueConditions(t *testing.T) {
	if got := trueConditions(ready(0).VolumeSnapshot); len(got) != 1 || got[0] != "ready" {
		t.Errorf("of a ready one: %v", got)
	}
	for _, s := range []aSnapshot{uncut(0), uploading(0), erring(0)} {
		if got := trueConditions(s.VolumeSnapshot); len(got) != 0 {
			t.Errorf("of one that is not ready: %v", got)
		}
	}
}
