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

// again is another snapshot for the slot of noon.
func again(name string) *snapshotv1.VolumeSnapshot {
	s := newSnapshot(name, noon)
	s.UID += "-again"
	return s
}

func TestS4(t *testing.T) {
	judge(t, S4, []testCase{
		{"takes two slots", given{}.when(func(s *script) {
			s.creates(newSnapshot("a", noon))
			s.creates(newSnapshot("b", noon.Add(6*time.Hour)))
		}), ""},
		{"takes a slot twice", given{}.when(func(s *script) {
			s.creates(newSnapshot("a", noon))
			s.creates(again("b"))
		}), "which a covers"},
		{"takes a slot twice, written in another zone", given{}.when(func(s *script) {
			s.creates(newSnapshot("a", noon))
			second := again("b")
			second.Annotations[v1alpha1.AnnotationScheduledAt] = "2026-06-15T14:00:00+02:00"
			s.creates(second)
		}), "which a covers"},
		{"takes the slots of two PVCs", given{}.when(func(s *script) {
			s.creates(newSnapshot("a", noon))
			second := again("b")
			second.Labels[v1alpha1.LabelMapKey] = "claim-other"
			s.creates(second)
		}), ""},
		{"takes the slots of two schedules", given{}.when(func(s *script) {
			s.creates(newSnapshot("a", noon))
			second := again("b")
			second.OwnerReferences[0].UID = "schedule-other"
			s.creates(second)
		}), ""},
		{"takes a slot while its snapshot is terminating", given{}.when(func(s *script) {
			s.creates(newSnapshot("a", noon))
			s.editSnapshot("a", func(o *snapshotv1.VolumeSnapshot) { o.DeletionTimestamp = &o.CreationTimestamp })
			s.creates(again("b"))
		}), "which a covers"},
		{"takes a slot again that a user deleted", given{}.when(func(s *script) {
			s.creates(newSnapshot("a", noon))
			s.gone("volumesnapshots/a")
			s.creates(again("a"))
		}), ""},
		{"takes a slot again that it deleted itself", given{ready("a", 0)}.when(func(s *script) {
			s.deletes("a")
			s.wait(time.Minute)
			s.creates(again("a"))
		}), "until the operator deleted it"},
		{"takes a slot again that was never cut", given{newSnapshot("a", noon)}.when(func(s *script) {
			s.deletes("a")
			s.creates(again("a"))
		}), ""},
		{"takes a slot again that was deleted before its time", func() *script {
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
		{"takes a slot again that was deleted right after its time", func() *script {
			come := ready("a", 0)
			come.Annotations[v1alpha1.AnnotationScheduledAt] = noon.Add(time.Minute).Format(time.RFC3339)
			s := begin(come)
			s.deletes("a")
			second := again("a")
			second.Annotations = come.Annotations
			s.creates(second)
			return s
		}, "until the operator deleted it"},
		{"takes a slot again by a clock that was set back", given{ready("a", 0)}.when(func(s *script) {
			s.deletes("a")
			s.wait(day)
			s.ahead = -day - 30*time.Second
			s.creates(again("a"))
		}), ""},
		{"takes a slot again by a clock that was set back, but not to before the delete", given{ready("a", 0)}.when(func(s *script) {
			s.deletes("a")
			s.wait(day)
			s.ahead = -day + 30*time.Second
			s.creates(again("a"))
		}), "until the operator deleted it"},
		{"takes a slot again under a new spec", given{ready("a", 0)}.when(func(s *script) {
			s.deletes("a")
			s.editSchedule(func(o *v1alpha1.SnapshotSchedule) { o.Spec.SnapshotTTL = "1y" })
			s.creates(again("a"))
		}), ""},
		{"takes a slot again of a PVC that had been detached", given{ready("a", 0)}.when(func(s *script) {
			s.editSchedule(func(o *v1alpha1.SnapshotSchedule) {
				o.Spec.Selector.MatchLabels = map[string]v1alpha1.LabelValue{"app": "shop"}
			})
			s.editClaim(func(o *corev1.PersistentVolumeClaim) { o.Labels = nil })
			s.deletes("a")
			s.editClaim(func(o *corev1.PersistentVolumeClaim) { o.Labels = map[string]string{"app": "shop"} })
			s.creates(again("a"))
		}), ""},
		{"someone else makes a copy", given{}.when(func(s *script) {
			s.creates(newSnapshot("a", noon))
			s.others(again("b"))
		}), ""},
		{"takes the slot of a PVC that was created again", given{}.when(func(s *script) {
			s.creates(newSnapshot("a", noon))
			s.gone("persistentvolumeclaims/data")
			claim := newClaim("data")
			claim.UID = types.UID("claim-data-2")
			s.others(claim)
			second := again("b")
			second.Labels[v1alpha1.LabelMapKey] = "claim-data-2"
			s.creates(second)
		}), ""},
	})
}
