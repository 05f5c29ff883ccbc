// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

const everySchedule = "snapshotschedules/every"

// reports makes the operator report the schedule's generation.
func reports(s *script) {
	patches(s, everySchedule, func(o *v1alpha1.SnapshotSchedule) {
		o.Status.ObservedGeneration = o.Generation
		o.Generation-- // a status does not change it
	})
}

func toOrphan(o *v1alpha1.SnapshotSchedule) { o.Spec.DeletionPolicy = v1alpha1.DeletionOrphan }

func TestS8(t *testing.T) {
	release := func(s *script) {
		patches(s, "volumesnapshots/old", func(o *snapshotv1.VolumeSnapshot) { o.OwnerReferences = nil })
	}
	finalizers := func(finalizers ...string) func(o *v1alpha1.SnapshotSchedule) {
		return func(o *v1alpha1.SnapshotSchedule) {
			o.Generation--
			o.Finalizers = finalizers
		}
	}
	then := func(steps ...func(*script)) func(*script) {
		return func(s *script) {
			reports(s)
			s.wait(time.Minute)
			s.editSchedule(toOrphan)
			for _, step := range steps {
				s.wait(time.Minute)
				step(s)
			}
		}
	}
	hold := func(s *script) { patches(s, everySchedule, finalizers(v1alpha1.FinalizerRelease)) }
	letGo := func(s *script) { patches(s, everySchedule, finalizers()) }
	gone := func(s *script) { s.gone(everySchedule) }
	back := func(s *script) {
		s.editSchedule(func(o *v1alpha1.SnapshotSchedule) { o.Spec.DeletionPolicy = "Delete" })
	}
	own := given{ready("old", day)}
	judge(t, S8, []testCase{
		{"reports the generation and one refers to it", own.when(then(reports)), "reports its generation while 1 snapshots refer"},
		{"reports the generation and none refers to it", own.when(then(release, reports)), ""},
		{"removes the finalizer and one refers to it", own.when(then(hold, letGo)), "lost its finalizer"},
		{"removes the finalizer and none refers to it", own.when(then(hold, release, letGo)), ""},
		{"removes the finalizer under Delete", own.when(then(hold, back, letGo)), ""},
		{"is gone before it was reported", own.when(then(gone)), ""},
		{"is gone after it was reported, and one refers to it again", own.when(then(release, reports, func(s *script) {
			s.editSnapshot("old", adopt)
		}, gone)), "was removed"},
		{"refers to it since a moment ago", own.when(then(release, func(s *script) {
			s.editSnapshot("old", adopt)
			s.wait(time.Second)
			reports(s)
		})), ""},
		{"refers to it since before the operator started a moment ago", func() *script {
			s := begin(own...)
			s.Began = s.now
			s.wait(time.Second / 2)
			s.editSchedule(toOrphan)
			s.wait(time.Second / 2)
			reports(s)
			return s
		}, "reports its generation while 1"},
		{"someone else removes the finalizer", own.when(then(hold, func(s *script) {
			edit(s, everySchedule, finalizers())
		})), ""},
	})
}
