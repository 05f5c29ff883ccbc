// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/history"
)

func orphan(name string) *snapshotv1.VolumeSnapshot {
	s := ready(name, 2*time.Hour)
	s.OwnerReferences = nil
	return s
}

// foreign is controlled by something else, and carries the schedule's labels.
func foreign(name string) *snapshotv1.VolumeSnapshot {
	s := ready(name, 20*day)
	s.OwnerReferences[0].Kind, s.OwnerReferences[0].UID, s.OwnerReferences[0].APIVersion = "Backup", "backup-1", "example.com/v1"
	return s
}

func adopt(s *snapshotv1.VolumeSnapshot) { s.OwnerReferences = ready("like", 0).OwnerReferences }

func counts(total, ready int32) func(*v1alpha1.SnapshotSchedule) {
	return func(s *v1alpha1.SnapshotSchedule) {
		s.Status.ObservedGeneration = s.Generation
		s.Generation-- // a status is no new one
		s.Status.Outputs.VolumeSnapshots = v1alpha1.OutputCount{Total: total, Ready: ready}
	}
}

func TestS1(t *testing.T) {
	const schedule, old = "snapshotschedules/every", "volumesnapshots/old"
	judge(t, S1, []story{
		{"deletes its own", func() *script {
			s := begin(ready("old", 20*day), ready("new", time.Hour))
			s.deletes("old")
			return s
		}, ""},
		{"deletes what another controls", func() *script {
			s := begin(foreign("old"))
			s.deletes("old")
			return s
		}, "Backup"},
		{"deletes what nobody controls", func() *script {
			s := begin(orphan("old"))
			s.deletes("old")
			return s
		}, "nobody controls it"},
		{"deletes what a schedule of another run controls", func() *script {
			s := begin(ready("old", 20*day))
			s.editSnapshot("old", func(o *snapshotv1.VolumeSnapshot) { o.OwnerReferences[0].UID = "unknown" })
			s.deletes("old")
			return s
		}, "controls it"},
		{"someone else deletes what another controls", func() *script {
			s := begin(foreign("old"))
			s.gone("volumesnapshots/old")
			return s
		}, ""},
		{"patches what another controls", func() *script {
			s := begin(foreign("old"))
			patches(s, old, func(o *snapshotv1.VolumeSnapshot) { o.OwnerReferences = nil })
			return s
		}, "patched"},
		{"takes over what another controls", func() *script {
			s := begin(foreign("old"))
			patches(s, old, adopt)
			return s
		}, "Backup"},
		{"releases its own", func() *script {
			s := begin(ready("old", day))
			s.editSnapshot("old", func(o *snapshotv1.VolumeSnapshot) { delete(o.Labels, v1alpha1.LabelMapKey) })
			patches(s, old, func(o *snapshotv1.VolumeSnapshot) { o.OwnerReferences = nil })
			return s
		}, ""},
		{"takes a label off its own", func() *script {
			s := begin(ready("old", day))
			patches(s, old, func(o *snapshotv1.VolumeSnapshot) { delete(o.Labels, v1alpha1.LabelMapKey) })
			return s
		}, "more of it than its ownerReferences"},
		{"adopts an orphan", func() *script {
			s := begin(orphan("old"))
			patches(s, old, adopt)
			return s
		}, ""},
		{"adopts an orphan of another schedule's name", func() *script {
			s := begin(orphan("old"))
			s.editSnapshot("old", func(o *snapshotv1.VolumeSnapshot) { o.Labels[v1alpha1.LabelSchedule] = "other" })
			patches(s, old, adopt)
			return s
		}, "label does not name"},
		{"adopts an orphan without a map key", func() *script {
			s := begin(orphan("old"))
			s.editSnapshot("old", func(o *snapshotv1.VolumeSnapshot) { delete(o.Labels, v1alpha1.LabelMapKey) })
			patches(s, old, adopt)
			return s
		}, "without a map key"},
		{"adopts an orphan that goes", func() *script {
			s := begin(orphan("old"))
			s.editSnapshot("old", func(o *snapshotv1.VolumeSnapshot) { o.DeletionTimestamp = &metav1.Time{Time: noon} })
			patches(s, old, adopt)
			return s
		}, "while it was being deleted"},
		{"adopts for a schedule that went a moment ago", func() *script {
			s := begin(orphan("old"))
			s.gone(schedule)
			s.wait(3 * time.Second)
			patches(s, old, adopt)
			return s
		}, ""},
		{"adopts for a schedule that went long ago", func() *script {
			s := begin(orphan("old"))
			s.gone(schedule)
			s.wait(30 * time.Second)
			patches(s, old, adopt)
			return s
		}, "gone or going"},
		{"creates for a schedule", func() *script {
			s := begin()
			s.creates(newSnapshot("new", noon))
			return s
		}, ""},
		{"creates what nothing controls", func() *script {
			s := begin()
			o := newSnapshot("new", noon)
			o.OwnerReferences = nil
			s.creates(o)
			return s
		}, "no SnapshotSchedule controls it"},
		{"changes a PVC", func() *script {
			s := begin()
			patches(s, "persistentvolumeclaims/data", func(*corev1.PersistentVolumeClaim) {})
			return s
		}, "PVC shop/data was changed"},
		{"changes a spec", func() *script {
			s := begin()
			patches(s, schedule, func(o *v1alpha1.SnapshotSchedule) { o.Spec.Suspend = true })
			return s
		}, "changed its spec"},
		{"sets its finalizer", func() *script {
			s := begin()
			patches(s, schedule, func(o *v1alpha1.SnapshotSchedule) { o.Finalizers = []string{v1alpha1.FinalizerRelease} })
			return s
		}, ""},
		{"counts what it has", func() *script {
			s := begin(ready("a", day), ready("b", time.Hour))
			patches(s, schedule, counts(2, 2))
			return s
		}, ""},
		{"counts what it had, with a late cache", func() *script {
			s := begin(ready("a", day), ready("b", time.Hour))
			s.gone("volumesnapshots/a")
			patches(s, schedule, counts(2, 2))
			return s
		}, ""},
		{"counts a foreign one", func() *script {
			s := begin(ready("a", day), foreign("b"))
			patches(s, schedule, counts(2, 2))
			return s
		}, "never had more than 1"},
		{"counts more ready than there are", func() *script {
			s := begin(ready("a", day), ready("b", day))
			patches(s, schedule, counts(1, 2))
			return s
		}, "2 ready of 1"},
		{"still counts what went, while nothing happens", func() *script {
			s := begin(ready("a", day), ready("b", time.Hour))
			patches(s, schedule, counts(2, 2))
			s.gone("volumesnapshots/a")
			s.wait(time.Second)
			s.window(history.Idle, s.now, s.now.Add(time.Minute), "")
			s.Ended = s.now.Add(time.Minute)
			return s
		}, "counts 2 snapshots while it has 1"},
		{"counts what there is, while nothing happens", func() *script {
			s := begin(ready("a", day), orphan("b"), foreign("c"))
			patches(s, schedule, counts(1, 1))
			s.wait(time.Second)
			s.window(history.Idle, s.now, s.now.Add(time.Minute), "")
			s.Ended = s.now.Add(time.Minute)
			return s
		}, ""},
	})
}
