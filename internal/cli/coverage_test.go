// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"reflect"
	"strings"
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

func TestCoverageByStorage(t *testing.T) {
	block := &snapshotv1.VolumeSnapshotClass{ObjectMeta: metav1.ObjectMeta{Name: "block"}, Driver: "block.example.com"}
	isDefault := block.DeepCopy()
	isDefault.Annotations = map[string]string{"snapshot.storage.kubernetes.io/is-default-class": "true"}
	for name, test := range map[string]struct {
		driver   string
		excluded bool
		taken    bool // a snapshot of the latest slot
		classes  snapshots.Classes
		want     protection
		reason   string
	}{
		"a class fits": {
			driver: block.Driver, taken: true, classes: snapshots.Classes{Known: true, All: []client.Object{isDefault}}, want: protected,
		},
		"no class": {
			driver: "nfs.example.com", classes: snapshots.Classes{Known: true, All: []client.Object{isDefault}},
			want: skipped, reason: "NotSnapshottable: no VolumeSnapshotClass belongs to driver nfs.example.com",
		},
		"in-tree": {driver: "kubernetes.io/nfs", want: skipped, reason: "in-tree"},
		"its class was lost": {
			driver: block.Driver, taken: true, classes: snapshots.Classes{Known: true}, want: unprotected, reason: "nightly: NoSnapshotClass",
		},
		"no default class": {
			driver: block.Driver, classes: snapshots.Classes{Known: true, All: []client.Object{block}},
			want: unprotected, reason: "nightly: NoDefaultSnapshotClass",
		},
		"excluded":                      {driver: block.Driver, excluded: true, want: excluded, reason: v1alpha1.AnnotationExclude},
		"classes that must not be read": {driver: "nfs.example.com", taken: true, want: protected},
	} {
		t.Run(name, func(t *testing.T) {
			now := start.AddDate(0, 0, 30).Add(time.Minute)
			s, claim := testSchedule("nightly", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "6h"}), testClaim("data", nil)
			claim.Annotations = map[string]string{"volume.kubernetes.io/storage-provisioner": test.driver}
			if test.excluded {
				claim.Annotations[v1alpha1.AnnotationExclude] = ""
			}
			inv := &inventory{classes: test.classes, claims: map[string][]client.Object{"shop": {claim}}, snapshots: map[string][]client.Object{}}
			if test.taken {
				inv.snapshots["shop"] = []client.Object{testSnapshot(s, claim, now.Truncate(time.Hour))}
			}
			got := coverageOf([]*v1alpha1.SnapshotSchedule{s}, inv, now).Claims[0]
			if got.Protection != test.want || !strings.Contains(got.Reason, test.reason) || got.Gap != (test.want == unprotected) {
				t.Errorf("got %s: %q, want %s: %q", got.Protection, got.Reason, test.want, test.reason)
			}
		})
	}
}

func TestRefusedSaysWhyNoSnapshotIsTaken(t *testing.T) {
	claim := testClaim("data", nil)
	claim.Annotations = map[string]string{"volume.kubernetes.io/storage-provisioner": "block.example.com"}
	for want, classes := range map[string]snapshots.Classes{
		"":                                {},
		v1alpha1.ReasonNotSnapshottable:   {Known: true},
		v1alpha1.ReasonWrongSnapshotClass: {Known: true, All: []client.Object{&snapshotv1.VolumeSnapshotClass{Driver: "block.example.com"}}},
	} {
		s := testSchedule("nightly", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "6h"})
		s.Spec.SnapshotTemplate.Spec.VolumeSnapshotClassName = new("fast")
		judge, err := snapshots.NewJudge(scheme, s, classes)
		if err != nil {
			t.Fatal(err)
		}
		if got := judge.Refused(claim); !strings.HasPrefix(got, want) || (got == "") != (want == "") {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// A schedule that lists classes has no driver to choose one for.
func TestSteadyStateOfAScheduleThatListsClasses(t *testing.T) {
	spec := v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "6h", SnapshotTTL: "1d", StorageClassNames: []v1alpha1.StorageClassName{"fast"}}
	spec.SnapshotTemplate.Spec.VolumeSnapshotClassNames = []v1alpha1.SnapshotClassName{"block", "files"}
	listed, err := steadyStateOf(&spec, start)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := steadyStateOf(&v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "6h", SnapshotTTL: "1d"}, start)
	if err != nil || !reflect.DeepEqual(listed, plain) {
		t.Errorf("got %+v, want %+v, %v", listed, plain, err)
	}
}
