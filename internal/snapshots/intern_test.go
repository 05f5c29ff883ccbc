// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"testing"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// Sharing and packing must not change what is read, whatever differs between the
// snapshots of a PVC.
func TestInterningDoesNotChangeSnapshots(t *testing.T) {
	s, c := every("1h"), nthClaim(1)
	for name, change := range map[string]func(*snapshotv1.VolumeSnapshot){
		"equal":        func(*snapshotv1.VolumeSnapshot) {},
		"no status":    func(v *snapshotv1.VolumeSnapshot) { v.Status = nil },
		"empty status": func(v *snapshotv1.VolumeSnapshot) { v.Status = &snapshotv1.VolumeSnapshotStatus{} },
		"not ready":    func(v *snapshotv1.VolumeSnapshot) { v.Status.ReadyToUse = ptr.To(false) },
		"not cut":      func(v *snapshotv1.VolumeSnapshot) { v.Status.CreationTime = nil },
		"in error":     func(v *snapshotv1.VolumeSnapshot) { v.Status.Error = &snapshotv1.VolumeSnapshotError{} },
		"held":         func(v *snapshotv1.VolumeSnapshot) { annotate(v, v1alpha1.AnnotationHold, "yes") },
		"drilled":      func(v *snapshotv1.VolumeSnapshot) { annotate(v, v1alpha1.AnnotationVerifiedAt, rfc3339(noon)) },
		"an orphan":    func(v *snapshotv1.VolumeSnapshot) { v.OwnerReferences = nil },
		"two owners": func(v *snapshotv1.VolumeSnapshot) {
			v.OwnerReferences = append(v.OwnerReferences, metav1.OwnerReference{UID: "x"})
		},
		"another owner":     func(v *snapshotv1.VolumeSnapshot) { v.OwnerReferences[0].UID = "another" },
		"another namespace": func(v *snapshotv1.VolumeSnapshot) { v.Namespace = "other" },
		"another schedule":  func(v *snapshotv1.VolumeSnapshot) { v.Labels[v1alpha1.LabelSchedule] = "other" },
		"no labels":         func(v *snapshotv1.VolumeSnapshot) { v.Labels = nil },
		"no PVC":            func(v *snapshotv1.VolumeSnapshot) { v.Spec.Source.PersistentVolumeClaimName = nil },
		"of a content":      func(v *snapshotv1.VolumeSnapshot) { v.Spec.Source.VolumeSnapshotContentName = ptr.To("content") },
	} {
		t.Run(name, func(t *testing.T) {
			for _, first := range []bool{true, false} {
				shared := newInterner()
				one, other := taken(s, c, 0), taken(s, c, 1)
				if first {
					change(one)
				} else {
					change(other)
				}
				for _, v := range []*snapshotv1.VolumeSnapshot{one, other} {
					want := toJSON(strip(t, stripSnapshot, v.DeepCopy()))
					if got := toJSON(strip(t, shared.Transform, v)); got != want {
						t.Errorf("got  %s\nwant %s", got, want)
					}
				}
			}
		})
	}
}

func TestSnapshotsOfAPVCShareValues(t *testing.T) {
	s, c, shared := every("1h"), nthClaim(1), newInterner()
	one := strip(t, shared.Transform, taken(s, c, 0))
	other := strip(t, shared.Transform, taken(s, c, 1))
	if &one.OwnerReferences[0] != &other.OwnerReferences[0] ||
		one.Spec.Source.PersistentVolumeClaimName != other.Spec.Source.PersistentVolumeClaimName {
		t.Error("each holds its own values")
	}
}
