// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	"k8s.io/utils/ptr"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
)

// afterWrites are the problems that the writes of a pass show.
func afterWrites(before, decided *keyStatus, outcome mapcontroller.Outcome) []Problem {
	w := written{
		schedule: every("6h").SnapshotSchedule, before: before, after: settled(before, decided, outcome), outcome: outcome, inFlight: newFlight(0).inFlight,
	}
	return w.problems()
}

// Contract: MAP-10.
func TestCollisionMessage(t *testing.T) {
	want := &snapshotv1.VolumeSnapshot{}
	want.Namespace, want.Name, want.Labels = "shop", "data-1", map[string]string{v1alpha1.LabelMapKey: "data-uid"}
	want.Annotations = map[string]string{v1alpha1.AnnotationScheduledAt: "2026-06-15T12:00:00Z"}
	want.Spec.Source.PersistentVolumeClaimName = ptr.To("data")
	const notOurs = "VolumeSnapshot data-1 exists, but does not belong to this schedule; if nobody needs it, delete it: kubectl describe -n 'shop' volumesnapshot 'data-1'"
	for name, test := range map[string]struct {
		change func(*snapshotv1.VolumeSnapshot)
		other  bool
		want   string
	}{
		"somebody else's": {other: true, want: notOurs},
		"its slot was changed": {
			change: func(v *snapshotv1.VolumeSnapshot) {
				v.Annotations = map[string]string{v1alpha1.AnnotationScheduledAt: "2020-01-01T00:00:00Z"}
			},
			want: "VolumeSnapshot data-1 belongs to this schedule, but its annotation snapshots.mapcontroller.dev/scheduled-at was changed, " +
				"so the slot is due again; set it to 2026-06-15T12:00:00Z again, or delete the VolumeSnapshot: kubectl annotate -n 'shop' volumesnapshot 'data-1' --overwrite " +
				"'snapshots.mapcontroller.dev/scheduled-at=2026-06-15T12:00:00Z'",
		},
		"it is of another PVC": {
			change: func(v *snapshotv1.VolumeSnapshot) { v.Spec.Source.PersistentVolumeClaimName = ptr.To("other") },
			want:   "VolumeSnapshot data-1 belongs to this schedule, but was not taken of PersistentVolumeClaim data; delete it: kubectl describe -n 'shop' volumesnapshot 'data-1'",
		},
		"it is imported": {
			change: func(v *snapshotv1.VolumeSnapshot) {
				v.Spec.Source = snapshotv1.VolumeSnapshotSource{VolumeSnapshotContentName: ptr.To("c")}
			},
			want: "VolumeSnapshot data-1 belongs to this schedule, but was not taken of PersistentVolumeClaim data; delete it: kubectl describe -n 'shop' volumesnapshot 'data-1'",
		},
		"it is being deleted": {
			change: func(v *snapshotv1.VolumeSnapshot) { v.Annotations = nil; markDeleting(v) },
			want:   "VolumeSnapshot data-1 belongs to this schedule, but was changed and is being deleted; the slot is taken once it is gone",
		},
		"its map key was changed": {
			change: func(v *snapshotv1.VolumeSnapshot) { v.Labels = map[string]string{v1alpha1.LabelMapKey: "x"} },
			want: "VolumeSnapshot data-1 belongs to this schedule, but its label snapshots.mapcontroller.dev/map-key was changed; " +
				"set it to data-uid again, or delete the VolumeSnapshot: kubectl label -n 'shop' volumesnapshot 'data-1' --overwrite 'snapshots.mapcontroller.dev/map-key=data-uid'",
		},
	} {
		t.Run(name, func(t *testing.T) {
			have := want.DeepCopy()
			if test.change != nil {
				test.change(have)
			}
			cached := strip(t, stripSnapshot, have.DeepCopy())
			for _, existing := range []*snapshotv1.VolumeSnapshot{have, cached} {
				err := fmt.Errorf("create: %w", &mapcontroller.CollisionError{Existing: existing, Owned: !test.other})
				if got := collisionMessage(want, err); got != test.want || !errors.Is(err, mapcontroller.ErrNameCollision) || !strings.Contains(err.Error(), "data-1") {
					t.Errorf("got %q (%v), want %q", got, err, test.want)
				}
			}
		})
	}
	if got := collisionMessage(want, mapcontroller.ErrNameCollision); got != notOurs {
		t.Errorf("got %q", got)
	}
}
