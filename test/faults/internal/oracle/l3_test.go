// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/history"
)

func TestL3(t *testing.T) {
	broken := func(steps func(*script)) func() *script {
		return given{newClaim("broken")}.when(func(s *script) {
			s.window(history.Broken, s.now, time.Time{}, "shop/broken")
			steps(s)
			s.wait(time.Minute)
			s.Ended = s.now
		})
	}
	judge(t, L3, []testCase{
		{"nothing is taken", broken(func(*script) {}), "PVC shop/data got no snapshot for slot 2026-06-15T12:00:00Z"},
		{"the other is taken", broken(func(s *script) { s.creates(newSnapshot("a", noon)) }), ""},
		{"the other is taken for an older slot only", broken(func(s *script) {
			s.creates(newSnapshot("a", noon.Add(-6*time.Hour)))
			s.editSnapshot("a", func(o *snapshotv1.VolumeSnapshot) { o.Status = ready("a", 0).Status })
		}), "got no snapshot for slot 2026-06-15T12:00:00Z"},
		{"the other waits for one that is in progress", broken(func(s *script) { s.creates(newSnapshot("a", noon.Add(-6*time.Hour))) }), ""},
		{"the other is not bound", broken(func(s *script) {
			s.editClaim(func(o *corev1.PersistentVolumeClaim) { o.Status.Phase = corev1.ClaimPending })
		}), ""},
		{"suspended", broken(func(s *script) {
			s.editSchedule(func(o *v1alpha1.SnapshotSchedule) { o.Spec.Suspend = true })
		}), ""},
		{"suspended, and asked for", broken(func(s *script) {
			s.editSchedule(func(o *v1alpha1.SnapshotSchedule) {
				o.Spec.Suspend = true
				o.Annotations = map[string]string{v1alpha1.AnnotationRequestedAt: s.now.Format(time.RFC3339)}
			})
		}), "got no snapshot for slot 2026-06-15T12:01:00Z"},
		{"on a cron line", broken(func(s *script) {
			s.creates(newSnapshot("a", noon.Add(-6*time.Hour)))
			s.editSnapshot("a", func(o *snapshotv1.VolumeSnapshot) { o.Status = ready("a", 0).Status })
			s.editSchedule(func(o *v1alpha1.SnapshotSchedule) { o.Spec.SnapshotInterval, o.Spec.Schedule = "", "0 10 * * *" })
		}), "got no snapshot for slot 2026-06-15T10:00:00Z"},
		{"a fault at the same time", broken(func(s *script) {
			s.window(history.Faulty, s.now, time.Time{}, "")
		}), ""},
		{"an expired one stays", broken(func(s *script) {
			s.creates(newSnapshot("a", noon))
			s.others(ready("b", 2*day), ready("c", 11*day))
		}), "VolumeSnapshot shop/c was not deleted"},
		{"an expired one goes", broken(func(s *script) {
			s.creates(newSnapshot("a", noon))
			s.others(ready("b", 2*day), ready("c", 11*day))
			s.deletes("c")
		}), ""},
		{"an expired one is the floor", broken(func(s *script) {
			s.creates(newSnapshot("a", noon))
			s.others(ready("c", 11*day))
		}), ""},
		{"the window is too short", given{newClaim("broken")}.when(func(s *script) {
			s.window(history.Broken, s.now, s.now.Add(time.Second), "shop/broken")
			s.wait(time.Minute)
			s.Ended = s.now
		}), "nothing could be judged"},
		{"a list in pages", given{}.when(func(s *script) { s.request("list", "volumesnapshots", "") }), ""},
		{"a list of everything", given{}.when(func(s *script) {
			s.request("list", "volumesnapshots", "").Unpaged = true
		}), "was not limited to a page"},
		{"a list of all classes", given{}.when(func(s *script) {
			s.request("list", "volumesnapshotclasses", "").Unpaged = true
		}), ""},
		{"nobody is broken", given{}.when(func(s *script) {
			s.wait(time.Minute)
			s.Ended = s.now
		}), ""},
	})
}
