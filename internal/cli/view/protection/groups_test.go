// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package protection

import (
	"testing"
	"time"

	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/clitest"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// A driver may have a VolumeGroupSnapshotClass only: what its groups hold is covered, and may be a gap.
func TestCoverageOfGroupsNeedsNoVolumeSnapshotClass(t *testing.T) {
	s := clitest.Schedule("groups", v1alpha1.SnapshotScheduleSpec{
		Selector: v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"app": "db"}}, Group: &v1alpha1.Group{}, SnapshotInterval: "24h",
	})
	data := clitest.Claim("data", map[string]string{"app": "db"})
	data.Annotations = map[string]string{"volume.kubernetes.io/storage-provisioner": "block.example.com"}
	class := &groupv1.VolumeGroupSnapshotClass{ObjectMeta: metav1.ObjectMeta{
		Name: "fast", Annotations: map[string]string{"groupsnapshot.storage.kubernetes.io/is-default-class": "true"},
	}, Driver: "block.example.com"}
	v, members := clitest.Group(t, s, "g", clitest.Start.Add(24*time.Hour), data)
	inv := &view.Inventory{
		Classes: snapshots.Classes{Known: true, All: []client.Object{class}},
		Claims:  map[string][]client.Object{"shop": {data}}, Groups: map[string][]client.Object{"shop": {v}}, Members: map[string][]client.Object{"shop": members},
	}
	for after, want := range map[time.Duration]Protection{25 * time.Hour: Protected, 100 * time.Hour: Stale} {
		if got := CoverageOf([]*v1alpha1.SnapshotSchedule{s}, inv, clitest.Start.Add(after)).Claims[0]; got.Protection != want {
			t.Errorf("after %s: %s (%s), want %s", after, got.Protection, got.Reason, want)
		}
	}
}

// Another schedule that cannot snapshot a PVC for want of a VolumeSnapshotClass does not hide how its groups protect it.
func TestCoverageOfGroupsDespiteAScheduleThatFindsNoClass(t *testing.T) {
	s := clitest.Schedule("groups", v1alpha1.SnapshotScheduleSpec{
		Selector: v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"app": "db"}}, Group: &v1alpha1.Group{}, SnapshotInterval: "24h",
	})
	all := clitest.Schedule("nightly", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "24h"})
	data := clitest.Claim("data", map[string]string{"app": "db"})
	data.Annotations = map[string]string{"volume.kubernetes.io/storage-provisioner": "block.example.com"}
	class := &groupv1.VolumeGroupSnapshotClass{ObjectMeta: metav1.ObjectMeta{
		Name: "fast", Annotations: map[string]string{"groupsnapshot.storage.kubernetes.io/is-default-class": "true"},
	}, Driver: "block.example.com"}
	v, members := clitest.Group(t, s, "g", clitest.Start.Add(24*time.Hour), data)
	inv := &view.Inventory{
		Classes: snapshots.Classes{Known: true, All: []client.Object{class}},
		Claims:  map[string][]client.Object{"shop": {data}}, Groups: map[string][]client.Object{"shop": {v}}, Members: map[string][]client.Object{"shop": members},
	}
	for after, want := range map[time.Duration]Protection{25 * time.Hour: Protected, 100 * time.Hour: Stale} {
		for _, found := range [][]*v1alpha1.SnapshotSchedule{{s, all}, {all, s}} {
			if got := CoverageOf(found, inv, clitest.Start.Add(after)).Claims[0]; got.Protection != want {
				t.Errorf("after %s: %s (%s), want %s", after, got.Protection, got.Reason, want)
			}
		}
	}
}

// A PVC that cannot be snapshotted itself is skipped, although its group is not.
func TestCoverageOfAGroupSkipsThePVCThatIsNotBound(t *testing.T) {
	s := clitest.Schedule("groups", v1alpha1.SnapshotScheduleSpec{
		Selector: v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"app": "db"}}, Group: &v1alpha1.Group{}, SnapshotInterval: "24h",
	})
	data, wal := clitest.Claim("data", map[string]string{"app": "db"}), clitest.Claim("wal", map[string]string{"app": "db"})
	wal.Status.Phase = corev1.ClaimPending
	v, members := clitest.Group(t, s, "g", clitest.Start.Add(24*time.Hour), data)
	inv := &view.Inventory{
		Classes: clitest.AnyClass, Claims: map[string][]client.Object{"shop": {data, wal}},
		Groups: map[string][]client.Object{"shop": {v}}, Members: map[string][]client.Object{"shop": members},
	}
	all := CoverageOf([]*v1alpha1.SnapshotSchedule{s}, inv, clitest.Start.Add(25*time.Hour)).Claims
	if all[0].Protection != Protected || all[1].Protection != Skipped {
		t.Errorf("data: %s (%s), wal: %s (%s)", all[0].Protection, all[0].Reason, all[1].Protection, all[1].Reason)
	}
}
