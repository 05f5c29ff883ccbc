// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// Contract: BACK-1.
func TestChangesFailIfTheObjectIsAnother(t *testing.T) {
	o := &corev1.PersistentVolumeClaim{}
	o.UID, o.ResourceVersion = "uid-1", "7"
	for name, test := range map[string]struct {
		change Change
		want   string
	}{
		"a patch, of this version": {
			Patch(o, map[string]any{"labels": map[string]any{"a": nil}}, map[string]any{"volumeName": "pv"}),
			`{"metadata":{"labels":{"a":null},"resourceVersion":"7"},"spec":{"volumeName":"pv"}}`,
		},
		"an annotation, of this version": {
			Annotate(o, map[string]any{"a": "b"}), `{"metadata":{"annotations":{"a":"b"},"resourceVersion":"7"}}`,
		},
		"a mark, of any version": {Mark(o, map[string]any{"a": "b"}), `{"metadata":{"annotations":{"a":"b"},"uid":"uid-1"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := string(test.change.Patch); got != test.want || test.change.Object != o {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}
