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
		s.Generation-- // a status does not change it
		s.Status.Outputs.VolumeSnapshots = v1alpha1.OutputCount{Total: total, Ready: ready}
	}
}

func TestS1(t *testing.T) {
	const schedule, old = "snapshotschedules/every", "volumesnapshots/old"
	judge(t, S1, []testCase{
		{"deletes its own", given{ready("old", 20*day), ready("new", time.Hour)}.when(func(s *script) { s.deletes("old") }), ""},
		{"deletes what another controls", given{foreign("old")}.when(func(s *script) { s.deletes("old") }), "Backup"},
		{"deletes what has no controller", given{orphan("old")}.when(func(s *script) { s.deletes("old") }), "has no controller"},
		{"deletes what a schedule of another run controls", given{ready("old", 20*day)}.when(func(s *script) {
			s.editSnapshot("old", func(o *snapshotv1.VolumeSnapshot) { o.OwnerReferences[0].UID = "unknown" })
			s.deletes("old")
		}), "controls it"},
		{"someone else deletes what another controls", given{foreign("old")}.when(func(s *script) { s.gone("volumesnapshots/old") }), ""},
		{"patches what another controls", given{foreign("old")}.when(func(s *script) {
			patches(s, old, func(o *snapshotv1.VolumeSnapshot) { o.OwnerReferences = nil })
		}), "patched"},
		{"takes over what another controls", given{foreign("old")}.when(func(s *script) { patches(s, old, adopt) }), "Backup"},
		{"releases its own", given{ready("old", day)}.when(func(s *script) {
			s.editSnapshot("old", func(o *snapshotv1.VolumeSnapshot) { delete(o.Labels, v1alpha1.LabelMapKey) })
			patches(s, old, func(o *snapshotv1.VolumeSnapshot) { o.OwnerReferences = nil })
		}), ""},
		{"takes a label off its own", given{ready("old", day)}.when(func(s *script) {
			patches(s, old, func(o *snapshotv1.VolumeSnapshot) { delete(o.Labels, v1alpha1.LabelMapKey) })
		}), "more of it than its ownerReferences"},
		{"adopts an orphan", given{orphan("old")}.when(func(s *script) { patches(s, old, adopt) }), ""},
		{"adopts an orphan of another schedule's name", given{orphan("old")}.when(func(s *script) {
			s.editSnapshot("old", func(o *snapshotv1.VolumeSnapshot) { o.Labels[v1alpha1.LabelSchedule] = "other" })
			patches(s, old, adopt)
		}), "label does not name"},
		{"adopts an orphan without a map key", given{orphan("old")}.when(func(s *script) {
			s.editSnapshot("old", func(o *snapshotv1.VolumeSnapshot) { delete(o.Labels, v1alpha1.LabelMapKey) })
			patches(s, old, adopt)
		}), "without a map key"},
		{"adopts an orphan that is being deleted", given{orphan("old")}.when(func(s *script) {
			s.editSnapshot("old", func(o *snapshotv1.VolumeSnapshot) { o.DeletionTimestamp = &metav1.Time{Time: noon} })
			patches(s, old, adopt)
		}), "while it was being deleted"},
		{"adopts for a schedule deleted a moment ago", given{orphan("old")}.when(func(s *script) {
			s.gone(schedule)
			s.wait(3 * time.Second)
			patches(s, old, adopt)
		}), ""},
		{"adopts for a schedule deleted long ago", given{orphan("old")}.when(func(s *script) {
			s.gone(schedule)
			s.wait(30 * time.Second)
			patches(s, old, adopt)
		}), "gone or being deleted"},
		{"creates for a schedule", given{}.when(func(s *script) { s.creates(newSnapshot("new", noon)) }), ""},
		{"creates what nothing controls", given{}.when(func(s *script) {
			o := newSnapshot("new", noon)
			o.OwnerReferences = nil
			s.creates(o)
		}), "no SnapshotSchedule controls it"},
		{"changes a PVC", given{}.when(func(s *script) {
			patches(s, "persistentvolumeclaims/data", func(*corev1.PersistentVolumeClaim) {})
		}), "PVC shop/data was changed"},
		{"changes a spec", given{}.when(func(s *script) {
			patches(s, schedule, func(o *v1alpha1.SnapshotSchedule) { o.Spec.Suspend = true })
		}), "changed its spec"},
		{"sets its finalizer", given{}.when(func(s *script) {
			patches(s, schedule, func(o *v1alpha1.SnapshotSchedule) { o.Finalizers = []string{v1alpha1.FinalizerRelease} })
		}), ""},
		{"counts what it has", given{ready("a", day), ready("b", time.Hour)}.when(func(s *script) { patches(s, schedule, counts(2, 2)) }), ""},
		{"counts what it had, from a lagging cache", given{ready("a", day), ready("b", time.Hour)}.when(func(s *script) {
			s.gone("volumesnapshots/a")
			patches(s, schedule, counts(2, 2))
		}), ""},
		{"counts a foreign one", given{ready("a", day), foreign("b")}.when(func(s *script) {
			patches(s, schedule, counts(2, 2))
		}), "never had more than 1"},
		{"counts more ready than there are", given{ready("a", day), ready("b", day)}.when(func(s *script) {
			patches(s, schedule, counts(1, 2))
		}), "2 ready of 1"},
		{"counts a deleted one while idle", given{ready("a", day), ready("b", time.Hour)}.when(func(s *script) {
			patches(s, schedule, counts(2, 2))
			s.gone("volumesnapshots/a")
			s.wait(time.Second)
			s.window(history.Idle, s.now, s.now.Add(time.Minute), "")
			s.Ended = s.now.Add(time.Minute)
		}), "counts 2 snapshots while it has 1"},
		{"counts what exists while idle", given{ready("a", day), orphan("b"), foreign("c")}.when(func(s *script) {
			patches(s, schedule, counts(1, 1))
			s.wait(time.Second)
			s.window(history.Idle, s.now, s.now.Add(time.Minute), "")
			s.Ended = s.now.Add(time.Minute)
		}), ""},
	})
}
