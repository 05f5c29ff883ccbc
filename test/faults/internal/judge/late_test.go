// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"strings"
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// At a minute past noon, all is as it was at noon.
func TestLate(t *testing.T) {
	failed := ready("failed", 12*day)
	failed.Status.ReadyToUse, failed.Status.Error = ptr.To(false), &snapshotv1.VolumeSnapshotError{}
	suspended := func(s *v1alpha1.SnapshotSchedule, _ *corev1.PersistentVolumeClaim) { s.Spec.Suspend = true }
	for _, c := range []struct {
		name      string
		snapshots []client.Object
		change    func(*v1alpha1.SnapshotSchedule, *corev1.PersistentVolumeClaim)
		want      string
	}{
		{"nothing is taken", nil, nil, "PVC shop/data got no snapshot for slot 2026-06-15T12:00:00Z"},
		{"it is taken", []client.Object{newSnapshot("a", noon)}, nil, ""},
		{"an older slot is taken", []client.Object{ready("a", 6*time.Hour)}, nil, "got no snapshot for slot 2026-06-15T12:00:00Z"},
		{"one is in progress", []client.Object{newSnapshot("a", noon.Add(-6*time.Hour))}, nil, ""},
		{"it is not bound", nil, func(_ *v1alpha1.SnapshotSchedule, c *corev1.PersistentVolumeClaim) {
			c.Status.Phase = corev1.ClaimPending
		}, ""},
		{"it is suspended", nil, suspended, ""},
		{"it is suspended and asked for", nil, func(s *v1alpha1.SnapshotSchedule, _ *corev1.PersistentVolumeClaim) {
			s.Spec.Suspend = true
			s.Annotations = map[string]string{v1alpha1.AnnotationRequestedAt: noon.Add(time.Second).Format(time.RFC3339)}
		}, "got no snapshot for slot 2026-06-15T12:00:01Z"},
		{"an expired one stays", []client.Object{ready("a", 0), ready("b", 2*day), ready("c", 11*day)}, nil, "shop/c was not deleted"},
		{"an expired one is the floor", []client.Object{newSnapshot("a", noon), ready("c", 11*day)}, nil, ""},
		{"an expired one failed", []client.Object{ready("a", 0), failed}, nil, "shop/failed was not deleted"},
	} {
		schedule, claim := newSchedule("every"), newClaim("data")
		if c.change != nil {
			c.change(schedule, claim)
		}
		all := append([]client.Object{schedule, claim, newClaim("broken")}, c.snapshots...)
		found := strings.Join(Late(all, all, noon.Add(time.Minute), ReactionTime, "shop/broken"), "; ")
		if (c.want == "") != (found == "") || !strings.Contains(found, c.want) {
			t.Errorf("%s: found %q, want %q", c.name, found, c.want)
		}
	}
}
