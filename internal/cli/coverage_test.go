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
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
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
		want       protection
		reason     string
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
		"excluded":                           {driver: block.Driver, excluded: true, want: excluded, reason: v1alpha1.AnnotationExclude},
		"classes that the user may not read": {driver: "nfs.example.com", taken: true, want: protected},
		"classes that the user may not read, no snapshot": {driver: "nfs.example.com", young: true, want: unknown, reason: whyUnknown},
		"classes that the user may not read, no snapshot for a whole slot": {
			driver: "nfs.example.com", want: stale, reason: "no ready snapshot for a whole slot of nightly; " + whyUnknown,
		},
		"classes that the user may not read, no schedule": {
			driver: "nfs.example.com", unselected: true, want: unprotected, reason: "no schedule selects it; " + whyUnknown,
		},
		"classes that the user may not read, in-tree":        {driver: "kubernetes.io/nfs", want: skipped, reason: "in-tree"},
		"classes that the user may not read, unknown driver": {young: true, want: pending},
		"classes that the user may read, no snapshot yet":    {driver: block.Driver, young: true, classes: snapshots.Classes{Known: true, All: []client.Object{isDefault}}, want: pending},
		"classes that the user may not read, some listed":    {driver: block.Driver, taken: true, listed: listed, want: protected},
		"none of the listed classes fits": {
			driver: block.Driver, taken: true, listed: listed, classes: snapshots.Classes{Known: true, All: []client.Object{block}},
			want: unprotected, reason: "nightly: WrongSnapshotClass",
		},
	} {
		t.Run(name, func(t *testing.T) {
			now := start.AddDate(0, 0, 30).Add(time.Minute)
			s, claim := testSchedule("nightly", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "6h"}), testClaim("data", nil)
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
			inv := &inventory{classes: test.classes, claims: map[string][]client.Object{"shop": {claim}}, snapshots: map[string][]client.Object{}}
			if test.taken {
				inv.snapshots["shop"] = []client.Object{testSnapshot(s, claim, now.Truncate(time.Hour))}
			}
			for _, row := range statusOf(s, inv, now).PersistentVolumeClaims {
				if said := strings.Contains(row.problemWords(now), whyUnknown); said != strings.Contains(test.reason, whyUnknown) {
					t.Errorf("status: %q", row.problemWords(now))
				}
			}
			got := coverageOf([]*v1alpha1.SnapshotSchedule{s}, inv, now).Claims[0]
			if got.Protection != test.want || !strings.Contains(got.Reason, test.reason) ||
				strings.Contains(got.Reason, whyUnknown) != strings.Contains(test.reason, whyUnknown) ||
				got.Gap != (test.want == unprotected || test.want == stale || test.want == skipped) {
				t.Errorf("got %s: %q, want %s: %q", got.Protection, got.Reason, test.want, test.reason)
			}
		})
	}
}

func TestRefusedSaysWhyNoSnapshotIsTaken(t *testing.T) {
	claim := testClaim("data", nil)
	claim.Annotations = map[string]string{"volume.kubernetes.io/storage-provisioner": "block.example.com"}
	named := v1alpha1.SnapshotTemplateSpec{VolumeSnapshotClassName: new("fast")}
	listed := v1alpha1.SnapshotTemplateSpec{VolumeSnapshotClassNames: []v1alpha1.SnapshotClassName{"fast"}}
	block := snapshots.Classes{Known: true, All: []client.Object{&snapshotv1.VolumeSnapshotClass{Driver: "block.example.com"}}}
	for name, test := range map[string]struct {
		template v1alpha1.SnapshotTemplateSpec
		classes  snapshots.Classes
		want     string
	}{
		"the user may not read classes, one named":   {named, snapshots.Classes{}, ""},
		"the user may not read classes, some listed": {listed, snapshots.Classes{}, ""},
		"no class of the driver":                     {named, snapshots.Classes{Known: true}, v1alpha1.ReasonWrongSnapshotClass},
		"another class than the one named":           {named, block, v1alpha1.ReasonWrongSnapshotClass},
		"another class than those listed":            {listed, block, v1alpha1.ReasonWrongSnapshotClass},
	} {
		s := testSchedule("nightly", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "6h"})
		s.Spec.SnapshotTemplate.Spec = test.template
		judge, err := snapshots.NewJudge(term.Scheme, s, test.classes)
		if err != nil {
			t.Fatal(err)
		}
		if got := judge.Refused(claim); !strings.HasPrefix(got, test.want) || (got == "") != (test.want == "") {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}

// A snapshot that is kept as the newest is deleted once the next one is taken.
func TestSimulationTakesSnapshotsWhereClassesMayNotBeRead(t *testing.T) {
	now := start.AddDate(0, 0, 30).Add(time.Minute)
	s, claim := testSchedule("nightly", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "6h", SnapshotTTL: "1h"}), testClaim("data", nil)
	s.Spec.SnapshotTemplate.Spec.VolumeSnapshotClassNames = []v1alpha1.SnapshotClassName{"fast"}
	v := testSnapshot(s, claim, now.Truncate(time.Hour))
	inv := &inventory{claims: map[string][]client.Object{"shop": {claim}}, snapshots: map[string][]client.Object{"shop": {v}}}
	p, err := previewOf(variants{present: s, future: s}, inv, now, now.Add(term.Day))
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
	listed, err := steadyStateOf(&spec, start)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := steadyStateOf(&v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "6h", SnapshotTTL: "1d"}, start)
	if err != nil || !reflect.DeepEqual(listed, plain) {
		t.Errorf("got %+v, want %+v, %v", listed, plain, err)
	}
}
