// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
)

// A PVC that cannot be snapshotted is skipped alike by itself and as the only one of its group.
//
// Contract: GRP-4.
func TestAGroupIsSkippedLikeItsPVC(t *testing.T) {
	const known = "csi.example.com"
	classes := []client.Object{class("fast", known), groupClass("fast", known, true)}
	for name, c := range map[string]claimBuilder{
		"bound":                     claim("a").of(known),
		"not bound":                 claim("a").of(known).phase(corev1.ClaimPending),
		"being deleted":             claim("a").of(known).deleting(),
		"of an in-tree plugin":      claim("a").of("kubernetes.io/aws-ebs"),
		"of a driver without class": claim("a").of("nfs.csi.k8s.io"),
	} {
		t.Run(name, func(t *testing.T) {
			single, err := Compile(every("6h").SnapshotSchedule)
			must(t, err)
			s := statusOf(single.Map(mapcontroller.Observation{
				Now: noon, MapKey: string(c.UID), Selected: []client.Object{c.PersistentVolumeClaim}, Related: classes,
			}))
			tc := groupCase{claims: []claimBuilder{c}, related: classes}
			g := statusOf(tc.decide(t))
			if s.SkipReason != g.SkipReason || (s.SkipReason == "") != (name == "bound") {
				t.Errorf("skipped by itself: %q; as a group: %q", s.SkipReason, g.SkipReason)
			}
			one, all := combine([]any{s}), combine([]any{g})
			if one.Skipped != all.Skipped || one.Failing != all.Failing {
				t.Errorf("by itself %d skipped, %d failing; as a group %d, %d: %v", one.Skipped, one.Failing, all.Skipped, all.Failing, g.Problems)
			}
		})
	}
}

// Whatever a group was, nothing is said of it while none of its PVCs can be snapshotted, as of a PVC.
func TestASkippedGroupIsNotOverdue(t *testing.T) {
	tc := groupCase{claims: []claimBuilder{claim("a").phase(corev1.ClaimPending)}, groups: []groupBuilder{group(40*time.Hour, "a", "a")}}
	if status := statusOf(tc.decide(t)); len(status.Problems) > 0 || !status.NextSlot.IsZero() || !status.RecoveryPoint.IsZero() {
		t.Errorf("problems %v, next slot %v, recovery point %v", status.Problems, status.NextSlot, status.RecoveryPoint)
	}
}
