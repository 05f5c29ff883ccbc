// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"maps"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/clitest"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
	"mapcontroller.dev/snapshotschedule/internal/cli/view/protection"
)

func TestReportPageShowsTheProblemsOfAClusterSnapshotSchedule(t *testing.T) {
	fleet := fleetReport{Name: "nightly", Problems: []view.Problem{{Reason: "NameTaken", Message: "shop: not ours\x1b[2J"}}}
	r := &fullReport{Time: *term.TimeOf(clitest.Start), Clusters: []clusterReport{{Fleets: []fleetReport{fleet}, Coverage: &protection.Coverage{}}}}
	var page bytes.Buffer
	if err := r.writePage(&page); err != nil || !strings.Contains(page.String(), `<td>NameTaken: shop: not ours\u001b[2J<br></td>`) {
		t.Errorf("%v, page without the problem: %s", err, page.String())
	}
}

// Whoever may edit a schedule writes which owner it has.
func TestOnlyItsOwnSchedulesColorAClusterSnapshotSchedule(t *testing.T) {
	fleet := &v1alpha1.ClusterSnapshotSchedule{ObjectMeta: metav1.ObjectMeta{Name: "nightly", UID: "fleet"}}
	owned := func(name string, uid types.UID) *v1alpha1.SnapshotSchedule {
		s, of := clitest.Schedule(name, v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "6h"}), fleet.DeepCopy()
		of.UID = uid
		s.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(of, v1alpha1.GroupVersion.WithKind("ClusterSnapshotSchedule"))}
		return s
	}
	child, another, guessed := owned("nightly", "fleet"), owned("another", "fleet"), owned("nightly", "guessed")
	f := &term.Factory{Client: fake.NewClientBuilder().WithScheme(term.Scheme).WithObjects(fleet).Build()}
	owners := map[*v1alpha1.SnapshotSchedule]string{}
	fleets, err := readFleets(t.Context(), f, []*v1alpha1.SnapshotSchedule{child, another, guessed}, owners)
	if err != nil || len(fleets) != 1 || !maps.Equal(owners, map[*v1alpha1.SnapshotSchedule]string{child: "nightly"}) {
		t.Errorf("%v, %d ClusterSnapshotSchedules own %d schedules", err, len(fleets), len(owners))
	}
	for _, s := range []*v1alpha1.SnapshotSchedule{another, guessed} {
		if one, err := reportOn(s, &view.Inventory{Classes: clitest.AnyClass}, clitest.Start, 0); err != nil || one.fleet != "" {
			t.Errorf("%v, SnapshotSchedule %s colors %q", err, s.Name, one.fleet)
		}
	}
}
