// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"testing"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
)

// labeled gives a snapshot the map key of another PVC, as whoever may edit it can.
func labeled(key string, v *snapshotv1.VolumeSnapshot) *snapshotv1.VolumeSnapshot {
	v.Labels["snapshots.mapcontroller.dev/map-key"] = key
	v.Name = "labeled-" + v.Name
	return v
}

// Contract: CLI-2.
func TestSourceClaim(t *testing.T) {
	claims := []corev1.PersistentVolumeClaim{*claim("a", "a-uid", at(2, 0)), *claim("b", "b-uid", at(2, 0))}
	for name, c := range map[string]struct {
		v    *snapshotv1.VolumeSnapshot
		want string
	}{
		"its PVC":                                {snapshot("a", "a-uid", at(3, 0)), "a"},
		"its PVC, cut by a clock that is behind": {snapshot("a", "a-uid", at(1, 59)), "a"},
		"without labels":                         {snapshot("a", "", at(3, 0)), "a"},
		"of an earlier PVC of the name":          {snapshot("a", "old-uid", at(1, 0)), ""},
		"without labels, of an earlier one":      {snapshot("a", "", at(1, 0)), ""},
		"labeled as another PVC's":               {labeled("b-uid", snapshot("a", "", at(3, 0))), "a"},
		"labeled as another PVC's, and gone":     {labeled("b-uid", snapshot("gone", "", at(3, 0))), ""},
		"imported":                               {snapshot("a", "a-uid", at(3, 0), fromContent(at(1, 0))), "a"},
		"imported, of a PVC that is gone":        {snapshot("a", "old-uid", at(3, 0), fromContent(at(1, 0))), ""},
		"imported, without labels":               {snapshot("a", "", at(3, 0), fromContent(at(1, 0))), ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if found := SourceClaim(c.v, claims); found != nil {
				got = found.Name
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// Labels are what whoever may edit a snapshot writes: they never make a snapshot one of a
// PVC that it was not taken of.
//
// Contract: CLI-2.
func TestOfClaimIgnoresSnapshotsOfOtherPVCs(t *testing.T) {
	all := []snapshotv1.VolumeSnapshot{
		*snapshot("a", "a-uid", at(1, 0)),
		*snapshot("a", "old", at(2, 0)),
		*labeled("a-uid", snapshot("evil", "", at(3, 0))),
		*labeled("old", snapshot("imported", "", at(4, 0), fromContent(at(0, 30)))),
		*labeled("a-uid", snapshot("imported", "", at(5, 0), fromContent(at(0, 30)))),
		// The map key of another PVC, on a snapshot of this one.
		*labeled("evil-uid", snapshot("a", "", at(6, 0))),
		*snapshot("evil", "evil-uid", at(7, 0)),
		*labeled("evil-uid", snapshot("imported", "", at(8, 0), fromContent(at(0, 30)))),
	}
	for name, present := range map[string]*corev1.PersistentVolumeClaim{"the PVC exists": claim("a", "a-uid", at(0, 0)), "it is gone": nil} {
		got := ""
		for _, v := range OfClaim(all, "a", present) {
			got += v.Name + " "
		}
		if want := "a-0100 a-0200 labeled-imported-0400 labeled-imported-0500 labeled-a-0600 "; got != want {
			// While the PVC is gone, a-uid is a key of its snapshots and of evil's.
			if want = "a-0100 a-0200 labeled-imported-0400 labeled-a-0600 "; present != nil || got != want {
				t.Errorf("%s: got %s, want %s", name, got, want)
			}
		}
	}
}
