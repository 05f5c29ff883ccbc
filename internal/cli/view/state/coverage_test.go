// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"strings"
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/clitest"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
	"mapcontroller.dev/snapshotschedule/internal/cli/view/protection"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

func TestCoverageByStorage(t *testing.T) {
	block := &snapshotv1.VolumeSnapshotClass{ObjectMeta: metav1.ObjectMeta{Name: "block"}, Driver: "block.example.com"}
	listed := []v1alpha1.SnapshotClassName{"fast"}
	isDefault := block.DeepCopy()
	isDefault.Annotations = map[string]string{"snapshot.storage.kubernetes.io/is-default-class": "true"}
	for name, test := range map[string]struct {
		driver   string
		excluded bool
		taken    bool // a snapshot of the latest slot
		young    bool // the PVC is
		// unselected: by the schedule
		unselected bool
		listed     []v1alpha1.SnapshotClassName
		classes    snapshots.Classes
		want       protection.Protection
		reason     string
	}{
		"a class fits": {
			driver: block.Driver, taken: true, classes: snapshots.Classes{Known: true, All: []client.Object{isDefault}}, want: protection.Protected,
		},
		"no class": {
			driver: "nfs.example.com", classes: snapshots.Classes{Known: true, All: []client.Object{isDefault}},
			want: protection.Skipped, reason: "NotSnapshottable: no VolumeSnapshotClass belongs to driver nfs.example.com",
		},
		"in-tree": {driver: "kubernetes.io/nfs", want: protection.Skipped, reason: "in-tree"},
		"its class was lost": {
			driver: block.Driver, taken: true, classes: snapshots.Classes{Known: true}, want: protection.Unprotected, reason: "nightly: NoSnapshotClass",
		},
		"no default class": {
			driver: block.Driver, classes: snapshots.Classes{Known: true, All: []client.Object{block}},
			want: protection.Unprotected, reason: "nightly: NoDefaultSnapshotClass",
		},
		"excluded":                           {driver: block.Driver, excluded: true, want: protection.Excluded, reason: v1alpha1.AnnotationExclude},
		"classes that the user may not read": {driver: "nfs.example.com", taken: true, want: protection.Protected},
		"classes that the user may not read, no snapshot": {driver: "nfs.example.com", young: true, want: protection.Unknown, reason: view.WhyUnknown},
		"classes that the user may not read, no snapshot for a whole slot": {
			driver: "nfs.example.com", want: protection.Stale, reason: "no ready snapshot for a whole slot of nightly; " + view.WhyUnknown,
		},
		"classes that the user may not read, no schedule": {
			driver: "nfs.example.com", unselected: true, want: protection.Unprotected, reason: "no schedule selects it; " + view.WhyUnknown,
		},
		"classes that the user may not read, in-tree":        {driver: "kubernetes.io/nfs", want: protection.Skipped, reason: "in-tree"},
		"classes that the user may not read, unknown driver": {young: true, want: protection.Pending},
		"classes that the user may read, no snapshot yet":    {driver: block.Driver, young: true, classes: snapshots.Classes{Known: true, All: []client.Object{isDefault}}, want: protection.Pending},
		"classes that the user may not read, some listed":    {driver: block.Driver, taken: true, listed: listed, want: protection.Protected},
		"none of the listed classes fits": {
			driver: block.Driver, taken: true, listed: listed, classes: snapshots.Classes{Known: true, All: []client.Object{block}},
			want: protection.Unprotected, reason: "nightly: WrongSnapshotClass",
		},
	} {
		t.Run(name, func(t *testing.T) {
			now := clitest.Start.AddDate(0, 0, 30).Add(time.Minute)
			s, claim := clitest.Schedule("nightly", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "6h"}), clitest.Claim("data", nil)
			s.Spec.SnapshotTemplate.Spec.VolumeSnapshotClassNames = test.listed
			claim.Annotations = map[string]string{"volume.kubernetes.io/storage-provisioner": test.driver}
			if test.excluded {
				claim.Annotations[v1alpha1.AnnotationExclude] = ""
			}
			if test.young {
				claim.CreationTimestamp = metav1.NewTime(now.Add(-time.Minute))
			}
			if test.unselected {
				s.Spec.Selector.MatchLabels = map[string]v1alpha1.LabelValue{"app": "other"}
			}
			inv := &view.Inventory{Classes: test.classes, Claims: map[string][]client.Object{"shop": {claim}}, Snapshots: map[string][]client.Object{}}
			if test.taken {
				inv.Snapshots["shop"] = []client.Object{clitest.Snapshot(s, claim, now.Truncate(time.Hour))}
			}
			for _, row := range StatusOf(s, inv, now).PersistentVolumeClaims {
				if said := strings.Contains(row.ProblemWords(now), view.WhyUnknown); said != strings.Contains(test.reason, view.WhyUnknown) {
					t.Errorf("status: %q", row.ProblemWords(now))
				}
			}
			got := protection.CoverageOf([]*v1alpha1.SnapshotSchedule{s}, inv, now).Claims[0]
			if got.Protection != test.want || !strings.Contains(got.Reason, test.reason) ||
				strings.Contains(got.Reason, view.WhyUnknown) != strings.Contains(test.reason, view.WhyUnknown) ||
				got.Gap != (test.want == protection.Unprotected || test.want == protection.Stale || test.want == protection.Skipped) {
				t.Errorf("got %s: %q, want %s: %q", got.Protection, got.Reason, test.want, test.reason)
			}
		})
	}
}
