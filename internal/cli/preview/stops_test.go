// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/clitest"
	"mapcontroller.dev/snapshotschedule/internal/cli/manifests"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view/ahead"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// A backup stops by not being taken: preview says so, and --fail-on-gaps finds it.
//
// Contract: CLI-5.
func TestPreviewSaysWhatWouldStop(t *testing.T) {
	for name, test := range map[string]struct {
		edit func(*v1alpha1.SnapshotScheduleSpec)
		gaps bool
		want []string
	}{
		"nothing": {edit: func(spec *v1alpha1.SnapshotScheduleSpec) { spec.Retention.Keep.Daily = 8 }},
		"a selector that selects nothing": {
			edit: func(spec *v1alpha1.SnapshotScheduleSpec) {
				spec.Selector = v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"app": "bd"}}
			},
			gaps: true, want: []string{
				"no PVC of namespace shop is selected by app=bd: no snapshots are taken",
				"no snapshots would be taken of 3 PVCs: no longer selected",
			},
		},
		"a class that does not exist": {
			edit: func(spec *v1alpha1.SnapshotScheduleSpec) {
				spec.SnapshotTemplate.Spec.VolumeSnapshotClassName = new("gone")
			},
			gaps: true, want: []string{"no snapshots would be taken of 2 PVCs: WrongSnapshotClass: "},
		},
		"a cron line with a slot that has passed": {
			edit: func(spec *v1alpha1.SnapshotScheduleSpec) {
				spec.SnapshotInterval, spec.Schedule = "", "15 0 * * *"
			},
			gaps: true, want: []string{"would be taken at once, for slots that have passed (the latest at 2026-01-31T00:15:00Z)"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := clitest.NewScenario()
			class := &snapshotv1.VolumeSnapshotClass{Driver: "a.csi"}
			class.Name, class.Annotations = "fast", map[string]string{"snapshot.storage.kubernetes.io/is-default-class": "true"}
			s.Inv.Classes = snapshots.Classes{Known: true, All: []client.Object{class}}
			for _, claims := range s.Inv.Claims {
				for _, claim := range claims {
					claim.SetAnnotations(map[string]string{"volume.kubernetes.io/storage-provisioner": "a.csi"})
				}
			}
			future := s.Tiers.DeepCopy()
			future.Generation++
			test.edit(&future.Spec)
			p := previewed(t, s, ahead.Variants{Present: s.Tiers, Future: future})
			if p.Gaps() != test.gaps {
				t.Errorf("--fail-on-gaps finds %t", p.Gaps())
			}
			for _, want := range test.want {
				if !slices.ContainsFunc(p.Warnings, func(w string) bool { return strings.Contains(w, want) }) {
					t.Errorf("no warning %q in %q", want, p.Warnings)
				}
			}
			if len(test.want) == 0 && slices.ContainsFunc(p.Warnings, func(w string) bool { return strings.Contains(w, "snapshots would be taken") }) {
				t.Errorf("warnings %q", p.Warnings)
			}
		})
	}
}

// The manifest that is applied already changes nothing, whether it was written by hand or by kubectl get.
//
// Contract: CLI-5.
func TestPreviewOfAManifest(t *testing.T) {
	const metadata = `"metadata":{"name":"s","namespace":"shop","generation":4,"annotations":{"team":"a"}}`
	read := func(metadata, spec string) manifests.Document {
		t.Helper()
		o := &unstructured.Unstructured{}
		if err := o.UnmarshalJSON([]byte(`{"apiVersion":"snapshots.mapcontroller.dev/v1alpha1","kind":"SnapshotSchedule",` + metadata + `,"spec":` + spec + `}`)); err != nil {
			t.Fatal(err)
		}
		d, err := manifests.Of(o, true)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	stored := read(metadata, `{"snapshotInterval":"6h","snapshotTTL":"10d","suspend":false,"readyDeadline":"1h","selector":{"matchLabels":{"app":"db"}},`+
		`"retention":{"minReady":1,"detached":{"minReady":0}}}`)
	for name, test := range map[string]struct {
		metadata, spec string
		change         ahead.Change
		want           string
	}{
		"as kubectl get prints it": {metadata, `{"snapshotInterval":"6h","snapshotTTL":"10d","suspend":false,"readyDeadline":"1h",` +
			`"selector":{"matchLabels":{"app":"db"}},"retention":{"minReady":1,"detached":{"minReady":0}}}`, ahead.Unchanged, "\n"},
		"as it was written": {`"metadata":{"name":"s","namespace":"shop"}`,
			`{"snapshotInterval":"6h","snapshotTTL":"10d","selector":{"matchLabels":{"app":"db"}}}`, ahead.Unchanged, "\n"},
		"another annotation": {`"metadata":{"name":"s","annotations":{"team":"b"}}`,
			`{"snapshotInterval":"6h","snapshotTTL":"10d","selector":{"matchLabels":{"app":"db"}}}`, ahead.Edited, "\n"},
		"a class, and no TTL": {metadata, `{"snapshotInterval":"6h","selector":{"matchLabels":{"app":"db"}},` +
			`"snapshotTemplate":{"spec":{"volumeSnapshotClassName":"gone"}}}`, ahead.Edited, `
  - spec.snapshotTTL: 10d
  + spec.snapshotTemplate.spec.volumeSnapshotClassName: gone
`},
		"other numbers": {metadata, `{"snapshotInterval":"6h","snapshotTTL":"10d","selector":{"matchLabels":{"app":"db"}},` +
			`"retention":{"minReady":2},"storageClassNames":["a","b"]}`, ahead.Edited, `
  - spec.retention.minReady: 1
  + spec.retention.minReady: 2
  + spec.storageClassNames: ["a","b"]
`},
	} {
		t.Run(name, func(t *testing.T) {
			v := editedBy(read(test.metadata, test.spec), stored)
			if v.Change() != test.change {
				t.Errorf("the change is %s", v.Change())
			}
			if wantGeneration := stored.Schedule.Generation + int64(min(len(v.Fields), 1)); v.Future.Generation != wantGeneration {
				t.Errorf("generation %d, want %d", v.Future.Generation, wantGeneration)
			}
			clitest.Golden(t, func(b *bytes.Buffer) error { printFields(b, term.Style{}, v.Fields); return nil }, test.want)
		})
	}
}
