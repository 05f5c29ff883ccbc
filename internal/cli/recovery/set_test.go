// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"fmt"
	"strings"
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
)

func TestSetAt(t *testing.T) {
	pending := claim("p", "p1", at(0, 0))
	pending.Status.Phase = corev1.ClaimPending
	for name, c := range map[string]struct {
		snapshots []*snapshotv1.VolumeSnapshot
		claims    []*corev1.PersistentVolumeClaim
		asOf      time.Time
		members   string
		missing   string
		leftOut   string
		skew      time.Duration
	}{
		"each PVC's newest at the time, with the skew": {
			snapshots: []*snapshotv1.VolumeSnapshot{
				snapshot("a", "a1", at(2, 0)), snapshot("a", "a1", at(3, 0)),
				snapshot("b", "b1", at(2, 0), cutAt(at(2, 7))), snapshot("b", "b1", at(3, 0), cutAt(at(3, 30))),
			},
			claims: []*corev1.PersistentVolumeClaim{claim("b", "b1", at(0, 0)), claim("a", "a1", at(0, 0))},
			asOf:   at(3, 10), members: "a-0300 b-0200", skew: 53 * time.Minute,
		},
		"a PVC whose snapshots are not ready is missing": {
			snapshots: []*snapshotv1.VolumeSnapshot{snapshot("a", "a1", at(2, 0)), snapshot("b", "b1", at(2, 0), unready)},
			claims:    []*corev1.PersistentVolumeClaim{claim("a", "a1", at(0, 0)), claim("b", "b1", at(0, 0))},
			asOf:      noon, members: "a-0200", missing: "b: its snapshots of that time are not ready",
		},
		"a PVC without snapshots is missing": {
			snapshots: []*snapshotv1.VolumeSnapshot{snapshot("a", "a1", at(2, 0))},
			claims:    []*corev1.PersistentVolumeClaim{claim("a", "a1", at(0, 0)), claim("b", "b1", at(0, 0))},
			asOf:      noon, members: "a-0200", missing: "b: it has no snapshot",
		},
		"a PVC that existed before its first snapshot is missing": {
			snapshots: []*snapshotv1.VolumeSnapshot{snapshot("a", "a1", at(2, 0)), snapshot("b", "b1", at(4, 0))},
			claims:    []*corev1.PersistentVolumeClaim{claim("a", "a1", at(0, 0)), claim("b", "b1", at(1, 0))},
			asOf:      at(3, 0), members: "a-0200", missing: "b: its snapshots are all later",
		},
		"a PVC that was created later is no part": {
			snapshots: []*snapshotv1.VolumeSnapshot{snapshot("a", "a1", at(2, 0)), snapshot("b", "b1", at(4, 0))},
			claims:    []*corev1.PersistentVolumeClaim{claim("a", "a1", at(0, 0)), claim("b", "b1", at(3, 30))},
			asOf:      at(3, 0), members: "a-0200",
		},
		"a PVC without data is no part": {
			snapshots: []*snapshotv1.VolumeSnapshot{snapshot("a", "a1", at(2, 0))},
			claims:    []*corev1.PersistentVolumeClaim{claim("a", "a1", at(0, 0)), pending},
			asOf:      noon, members: "a-0200",
		},
		"a snapshot that is labeled as another PVC's is left out": {
			snapshots: []*snapshotv1.VolumeSnapshot{snapshot("a", "a1", at(2, 0)), labeled("a1", snapshot("evil", "", at(3, 0)))},
			claims:    []*corev1.PersistentVolumeClaim{claim("a", "a1", at(0, 0))},
			asOf:      noon, members: "a-0200",
			leftOut: "evil: labeled-evil-0300 was taken of it, and is labeled as one of a",
		},
		"one of a PVC of the set under another map key is left out": {
			snapshots: []*snapshotv1.VolumeSnapshot{snapshot("a", "a1", at(2, 0)), labeled("made-up", snapshot("a", "", at(3, 0)))},
			claims:    []*corev1.PersistentVolumeClaim{claim("a", "a1", at(0, 0))},
			asOf:      noon, members: "a-0200",
			leftOut: "a: an earlier PersistentVolumeClaim of the same name; its newest snapshot is labeled-a-0300",
		},
		"snapshots of several PVCs under one map key are several series": {
			snapshots: []*snapshotv1.VolumeSnapshot{snapshot("a", "a1", at(2, 0)), labeled("a1", snapshot("evil", "", at(3, 0)))},
			asOf:      noon, members: "a-0200 labeled-evil-0300", skew: time.Hour,
		},
		"all PVCs are gone": {
			snapshots: []*snapshotv1.VolumeSnapshot{snapshot("a", "a1", at(2, 0)), snapshot("b", "b1", at(2, 1)), snapshot("a", "a1", at(3, 0))},
			asOf:      noon, members: "a-0300 b-0201", skew: 59 * time.Minute,
		},
		"a deleted PVC whose last snapshots are not ready is missing": {
			snapshots: []*snapshotv1.VolumeSnapshot{snapshot("a", "a1", at(2, 0)), snapshot("b", "b1", at(2, 0), unready)},
			asOf:      noon, members: "a-0200", missing: "b: its snapshots of that time are not ready",
		},
		"a PVC that was deleted before is left out": {
			snapshots: []*snapshotv1.VolumeSnapshot{
				snapshot("a", "a1", at(2, 0)), snapshot("a", "a1", at(3, 0)), snapshot("a", "a1", at(4, 0)), snapshot("b", "b1", at(2, 0)),
			},
			claims: []*corev1.PersistentVolumeClaim{claim("a", "a1", at(0, 0))},
			asOf:   at(4, 30), members: "a-0400",
			leftOut: "b: deleted or no longer selected; its newest snapshot is b-0200, of 2026-11-21T02:00:00Z",
		},
		"a PVC that was deleted afterwards is part": {
			snapshots: []*snapshotv1.VolumeSnapshot{
				snapshot("a", "a1", at(2, 0)), snapshot("a", "a1", at(3, 0)), snapshot("a", "a1", at(4, 0)),
				snapshot("b", "b1", at(2, 0)), snapshot("b", "b1", at(5, 0)),
			},
			claims: []*corev1.PersistentVolumeClaim{claim("a", "a1", at(0, 0))},
			asOf:   at(4, 30), members: "a-0400 b-0200", skew: 2 * time.Hour,
		},
		"a PVC that still exists is part, however old its snapshot": {
			snapshots: []*snapshotv1.VolumeSnapshot{
				snapshot("a", "a1", at(2, 0)), snapshot("a", "a1", at(3, 0)), snapshot("a", "a1", at(4, 0)), snapshot("b", "b1", at(1, 0)),
			},
			claims: []*corev1.PersistentVolumeClaim{claim("a", "a1", at(0, 0)), claim("b", "b1", at(0, 0))},
			asOf:   noon, members: "a-0400 b-0100", skew: 3 * time.Hour,
		},
		"of PVCs of one name, the one that existed then": {
			snapshots: []*snapshotv1.VolumeSnapshot{snapshot("a", "old", at(2, 0)), snapshot("a", "new", at(4, 0))},
			claims:    []*corev1.PersistentVolumeClaim{claim("a", "new", at(3, 30))},
			asOf:      at(3, 0), members: "a-0200",
		},
		"of PVCs of one name, the later one": {
			snapshots: []*snapshotv1.VolumeSnapshot{snapshot("a", "old", at(2, 0)), snapshot("a", "new", at(4, 0))},
			claims:    []*corev1.PersistentVolumeClaim{claim("a", "new", at(3, 30))},
			asOf:      noon, members: "a-0400",
			leftOut: "a: an earlier PersistentVolumeClaim of the same name; its newest snapshot is a-0200",
		},
		"of PVCs of one name, the later one, both gone": {
			snapshots: []*snapshotv1.VolumeSnapshot{snapshot("a", "old", at(2, 0)), snapshot("a", "new", at(4, 0))},
			asOf:      noon, members: "a-0400",
			leftOut: "a: an earlier PersistentVolumeClaim of the same name; its newest snapshot is a-0200",
		},
		"a PVC that was deleted after the time, before its next snapshot, is part": {
			snapshots: []*snapshotv1.VolumeSnapshot{
				snapshot("a", "a1", at(2, 0)), snapshot("a", "a1", at(3, 0)), snapshot("a", "a1", at(4, 0)), snapshot("b", "b1", at(2, 0)),
			},
			claims: []*corev1.PersistentVolumeClaim{claim("a", "a1", at(0, 0))},
			asOf:   at(3, 10), members: "a-0300 b-0200", skew: time.Hour,
		},
		"released snapshots are no part": {
			snapshots: []*snapshotv1.VolumeSnapshot{snapshot("a", "a1", at(2, 0)), snapshot("a", "", at(3, 0))},
			asOf:      noon, members: "a-0200",
		},
		"nothing": {asOf: noon},
	} {
		t.Run(name, func(t *testing.T) {
			var snapshots []snapshotv1.VolumeSnapshot
			for _, v := range c.snapshots {
				snapshots = append(snapshots, *v)
			}
			set := SetAt(snapshots, c.claims, c.asOf, noon)
			var members []string
			for _, m := range set.Members {
				members = append(members, m.Snapshot.Name)
			}
			expect(t, "members", strings.Join(members, " "), c.members)
			expect(t, "missing", describe(set.Missing), c.missing)
			expect(t, "left out", describe(set.LeftOut), c.leftOut)
			expect(t, "skew", set.Skew().String(), c.skew.String())
		})
	}
}

func describe(all []Absent) string {
	var s []string
	for _, a := range all {
		s = append(s, fmt.Sprintf("%s: %s", a.Claim, a.Reason))
	}
	return strings.Join(s, "; ")
}

func expect(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}
