// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// again is another object for the slot of noon.
func again(name string) *snapshotv1.VolumeSnapshot {
	s := newSnapshot(name, noon)
	s.UID += "-again"
	return s
}

func TestS4(t *testing.T) {
	judge(t, S4, []story{
		{"takes two slots", func() *script {
			s := begin()
			s.creates(newSnapshot("a", noon))
			s.creates(newSnapshot("b", noon.Add(6*time.Hour)))
			return s
		}, ""},
		{"takes a slot twice", func() *script {
			s := begin()
			s.creates(newSnapshot("a", noon))
			s.creates(again("b"))
			return s
		}, "which a serves"},
		{"takes a slot of another zone's writing twice", func() *script {
			s := begin()
			s.creates(newSnapshot("a", noon))
			second := again("b")
			second.Annotations[v1alpha1.AnnotationScheduledAt] = "2026-06-15T14:00:00+02:00"
			s.creates(second)
			return s
		}, "which a serves"},
		{"takes the slots of two PVCs", func() *script {
			s := begin()
			s.creates(newSnapshot("a", noon))
			second := again("b")
			second.Labels[v1alpha1.LabelMapKey] = "claim-other"
			s.creates(second)
			return s
		}, ""},
		{"takes the slots of two schedules", func() *script {
			s := begin()
			s.creates(newSnapshot("a", noon))
			second := again("b")
			second.OwnerReferences[0].UID = "schedule-other"
			s.creates(second)
			return s
		}, ""},
		{"takes a slot while the one before is still going", func() *script {
			s := begin()
			s.creates(newSnapshot("a", noon))
			s.editSnapshot("a", func(o *snapshotv1.VolumeSnapshot) { o.DeletionTimestamp = &o.CreationTimestamp })
			s.creates(again("b"))
			return s
		}, "which a serves"},
		{"takes a slot again that a user deleted", func() *script {
			s := begin()
			s.creates(newSnapshot("a", noon))
			s.gone("volumesnapshots/a")
			s.creates(again("a"))
			return s
		}, ""},
		{"takes a slot again that it deleted itself", func() *script {
			s := begin(ready("a", 0))
			s.deletes("a")
			s.wait(time.Minute)
			s.creates(again("a"))
			return s
		}, "until the controller deleted it"},
		{"takes a slot again that was never cut", func() *script {
			s := begin(newSnapshot("a", noon))
			s.deletes("a")
			s.creates(again("a"))
			return s
		}, ""},
		{"takes a slot again that a clock ahead of time had taken", func() *script {
			ahead := ready("a", 0)
			ahead.Annotations[v1alpha1.AnnotationScheduledAt] = noon.Add(day).Format(time.RFC3339)
			s := begin(ahead)
			s.deletes("a")
			s.wait(day)
			second := again("a")
			second.Annotations = ahead.Annotations
			s.creates(second)
			return s
		}, ""},
		{"takes a slot again that had just come when it was deleted", func() *script {
			come := ready("a", 0)
			come.Annotations[v1alpha1.AnnotationScheduledAt] = noon.Add(time.Minute).Format(time.RFC3339)
			s := begin(come)
			s.deletes("a")
			second := again("a")
			second.Annotations = come.Annotations
			s.creates(second)
			return s
		}, "until the controller deleted it"},
		{"comes to a slot again by a clock that was set back", func() *script {
			s := begin(ready("a", 0))
			s.deletes("a")
			s.wait(day)
			s.ahead = -day - 30*time.Second
			s.creates(again("a"))
			return s
		}, ""},
		{"takes a slot again by a clock that was set back, but not to before the delete", func() *script {
			s := begin(ready("a", 0))
			s.deletes("a")
			s.wait(day)
			s.ahead = -day + 30*time.Second
			s.creates(again("a"))
			return s
		}, "until the controller deleted it"},
		{"takes a slot again under a new spec", func() *script {
			s := begin(ready("a", 0))
			s.deletes("a")
			s.editSchedule(func(o *v1alpha1.SnapshotSchedule) { o.Spec.SnapshotTTL = "1y" })
			s.creates(again("a"))
			return s
		}, ""},
		{"takes a slot again of a PVC that had been detached", func() *script {
			s := begin(ready("a", 0))
			s.editSchedule(func(o *v1alpha1.SnapshotSchedule) { o.Spec.Selector.MatchLabels = map[string]string{"app": "shop"} })
			s.editClaim(func(o *corev1.PersistentVolumeClaim) { o.Labels = nil })
			s.deletes("a")
			s.editClaim(func(o *corev1.PersistentVolumeClaim) { o.Labels = map[string]string{"app": "shop"} })
			s.creates(again("a"))
			return s
		}, ""},
		{"someone else makes a copy", func() *script {
			s := begin()
			s.creates(newSnapshot("a", noon))
			s.others(again("b"))
			return s
		}, ""},
		{"takes the slot of a PVC that was created again", func() *script {
			s := begin()
			s.creates(newSnapshot("a", noon))
			s.gone("persistentvolumeclaims/data")
			claim := newClaim("data")
			claim.UID = types.UID("claim-data-2")
			s.others(claim)
			second := again("b")
			second.Labels[v1alpha1.LabelMapKey] = "claim-data-2"
			s.creates(second)
			return s
		}, ""},
	})
}
