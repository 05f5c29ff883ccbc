// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package drivers

import (
	"strings"
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	storagev1 "k8s.io/api/storage/v1"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// Contract: DOC-6.
func TestWhatAClassSaysWasProven(t *testing.T) {
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	for name, tc := range map[string]struct {
		text, version string
		ok, copies    bool
	}{
		"copies":                       {"2026-11-29T11:00:00Z 1.2.3 copies=yes groups=no", "1.2.3", true, true},
		"no copies":                    {"2026-11-29T11:00:00Z 1.2.3 copies=no", "1.2.3", true, false},
		"copies were not tried":        {"2026-11-29T11:00:00Z 1.2.3 groups=yes", "1.2.3", true, false},
		"a fact that is not known":     {"2026-11-29T11:00:00Z 1.2.3 copies=yes later=yes", "1.2.3", true, true},
		"another version":              {"2026-11-29T11:00:00Z 1.2.3 copies=yes", "1.2.4", true, false},
		"the version was unknown":      {"2026-11-29T11:00:00Z unknown copies=yes", "1.2.4", true, true},
		"the version is unknown":       {"2026-11-29T11:00:00Z 1.2.3 copies=yes", UnknownVersion, true, true},
		"in the future":                {"2026-11-29T12:00:01Z 1.2.3 copies=yes", "1.2.3", false, false},
		"of this moment":               {"2026-11-29T12:00:00Z 1.2.3 copies=yes", "1.2.3", true, true},
		"no time":                      {"1.2.3 copies=yes", "1.2.3", false, false},
		"no version":                   {"2026-11-29T11:00:00Z copies=yes", "1.2.3", false, false},
		"no facts":                     {"2026-11-29T11:00:00Z 1.2.3", "1.2.3", false, false},
		"neither yes nor no":           {"2026-11-29T11:00:00Z 1.2.3 copies=true", "1.2.3", false, false},
		"both":                         {"2026-11-29T11:00:00Z 1.2.3 copies=no copies=yes", "1.2.3", false, false},
		"another fact that is garbled": {"2026-11-29T11:00:00Z 1.2.3 copies=yes groups", "1.2.3", false, false},
		"two blanks":                   {"2026-11-29T11:00:00Z  1.2.3 copies=yes", "1.2.3", false, false},
		"a line break":                 {"2026-11-29T11:00:00Z 1.2.3 copies=yes\ngroups=yes", "1.2.3", false, false},
		"too long":                     {"2026-11-29T11:00:00Z 1.2.3 copies=yes" + strings.Repeat(" x=no", 200), "1.2.3", false, false},
		"nothing":                      {"", "1.2.3", false, false},
	} {
		class := &snapshotv1.VolumeSnapshotClass{}
		class.Annotations = map[string]string{v1alpha1.AnnotationProven: tc.text}
		p, ok := Proven(class, now)
		if ok != tc.ok || p.Holds(FactCopies, tc.version) != tc.copies || ok && p.String() != tc.text {
			t.Errorf("%s: %+v, %t", name, p, ok)
		}
	}
}

// Contract: DOC-6.
func TestVersionOfADriver(t *testing.T) {
	for label, want := range map[string]string{"1.30.0": "1.30.0", "v1": "v1", "": UnknownVersion, "a b": UnknownVersion} {
		d := &storagev1.CSIDriver{}
		d.Labels = map[string]string{"app.kubernetes.io/version": label}
		if got := VersionOf(d); got != want {
			t.Errorf("%q: %s", label, got)
		}
	}
	if got := VersionOf(nil); got != UnknownVersion {
		t.Error(got)
	}
}
