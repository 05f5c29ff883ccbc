// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package ahead

import (
	"reflect"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/clitest"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
)

// A snapshot that is kept as the newest is deleted once the next one is taken.
func TestSimulationTakesSnapshotsWhereClassesMayNotBeRead(t *testing.T) {
	now := clitest.Start.AddDate(0, 0, 30).Add(time.Minute)
	s, claim := clitest.Schedule("nightly", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "6h", SnapshotTTL: "1h"}), clitest.Claim("data", nil)
	s.Spec.SnapshotTemplate.Spec.VolumeSnapshotClassNames = []v1alpha1.SnapshotClassName{"fast"}
	v := clitest.Snapshot(s, claim, now.Truncate(time.Hour))
	inv := &view.Inventory{Claims: map[string][]client.Object{"shop": {claim}}, Snapshots: map[string][]client.Object{"shop": {v}}}
	p, err := PreviewOf(Variants{Present: s, Future: s}, inv, now, now.Add(term.Day))
	if err != nil {
		t.Fatal(err)
	}
	if next := v.CreationTimestamp.Add(6 * time.Hour); len(p.Deletes) != 1 || !p.Deletes[0].Time.Time.Equal(next) {
		t.Errorf("deletes %+v, want %s at %s", p.Deletes, v.Name, next)
	}
}

// A schedule that lists classes has no driver to choose one for.
func TestSteadyStateOfAScheduleThatListsClasses(t *testing.T) {
	spec := v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "6h", SnapshotTTL: "1d", StorageClassNames: []v1alpha1.StorageClassName{"fast"}}
	spec.SnapshotTemplate.Spec.VolumeSnapshotClassNames = []v1alpha1.SnapshotClassName{"block", "files"}
	listed, err := SteadyStateOf(&spec, clitest.Start)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := SteadyStateOf(&v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "6h", SnapshotTTL: "1d"}, clitest.Start)
	if err != nil || !reflect.DeepEqual(listed, plain) {
		t.Errorf("got %+v, want %+v, %v", listed, plain, err)
	}
}
