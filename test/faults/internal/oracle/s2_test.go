// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// expired are two snapshots, of which old has expired.
func expired() given { return given{ready("old", 11*day), ready("new", time.Hour)} }

// midnight has the snapshots of yesterday's and today's midnight, under a tier of days and without a TTL. The one of today was created
// before its time, and the one of yesterday is deleted.
func midnight(before time.Duration) func() *script {
	today := noon.Add(-12 * time.Hour)
	early := newSnapshot("today", today.Add(-before))
	cut(early, early.CreationTimestamp.Time)
	early.Status.ReadyToUse = ptr.To(true)
	early.Annotations[v1alpha1.AnnotationScheduledAt] = today.Format(time.RFC3339)
	return given{ready("yesterday", 36*time.Hour), early}.when(func(s *script) {
		s.editSchedule(func(o *v1alpha1.SnapshotSchedule) {
			o.Spec.SnapshotTTL, o.Spec.Retention.Keep.Daily = "", 30
		})
		s.wait(10 * time.Second)
		s.guardedDelete("yesterday", "today")
	})
}

func TestS2(t *testing.T) {
	const data = "persistentvolumeclaims/data"
	judge(t, S2, []testCase{
		{"deletes an expired one", expired().when(func(s *script) { s.guardedDelete("old", "new") }), ""},
		{"deletes one a minute too early", given{ready("old", 10*day-2*time.Minute), ready("new", time.Hour)}.when(func(s *script) {
			s.guardedDelete("old", "new")
		}), "a tier keeps it"},
		{"deletes by a clock that is ahead within bounds",
			given{ready("old", 10*day-100*time.Second), ready("new", time.Hour)}.when(func(s *script) {
				s.ahead = 45 * time.Second
				s.guardedDelete("old", "new")
			}), ""},
		{"deletes by a clock that is ahead beyond bounds",
			given{ready("old", 10*day-10*time.Minute), ready("new", time.Hour)}.when(func(s *script) {
				s.ahead = time.Hour
				s.guardedDelete("old", "new")
			}), "a tier keeps it"},
		{"deletes what is within the new TTL", expired().when(func(s *script) {
			s.editSchedule(func(o *v1alpha1.SnapshotSchedule) { o.Spec.SnapshotTTL = "1y" })
			s.wait(20 * time.Second)
			s.guardedDelete("old", "new")
		}), "a tier keeps it"},
		{"deletes a moment after the TTL was made longer", expired().when(func(s *script) {
			s.guards("new")
			s.wait(time.Second)
			s.editSchedule(func(o *v1alpha1.SnapshotSchedule) { o.Spec.SnapshotTTL = "1y" })
			s.wait(time.Second)
			s.deletes("old")
		}), ""},
		{"deletes on reads of a minute ago", expired().when(func(s *script) {
			s.guards("new")
			s.editSchedule(func(o *v1alpha1.SnapshotSchedule) { o.Spec.SnapshotTTL = "1y" })
			s.wait(time.Minute)
			s.guardedDelete("old", "new")
		}), "a tier keeps it"},
		{"deletes on a live read of an old version", expired().when(func(s *script) {
			before := s.existing["snapshotschedules/every"]
			s.editSchedule(func(o *v1alpha1.SnapshotSchedule) { o.Spec.SnapshotTTL = "1y" })
			s.wait(time.Minute)
			show(s.get("snapshotschedules/every"), before)
			s.get(data)
			s.get("volumesnapshots/new")
			s.deletes("old")
		}), ""},
		{"deletes one that is held", expired().when(func(s *script) {
			s.editSnapshot("old", func(o *snapshotv1.VolumeSnapshot) { o.Annotations[v1alpha1.AnnotationHold] = "" })
			s.guardedDelete("old", "new")
		}), "held by annotation"},
		{"deletes one that is being restored", expired().when(func(s *script) {
			s.others(restoreOf(ready("old", 0), "restored"))
			s.wait(10 * time.Second)
			s.guardedDelete("old", "new")
		}), "being restored"},
		{"deletes one that has been restored", expired().when(func(s *script) {
			restored := restoreOf(ready("old", 0), "restored")
			restored.Status.Phase = corev1.ClaimBound
			s.others(restored)
			s.wait(10 * time.Second)
			s.guardedDelete("old", "new")
		}), ""},
		{"deletes the newest ready one", given{ready("old", 12*day), ready("new", 11*day)}.when(func(s *script) {
			s.guardedDelete("new", "old")
		}), "belongs to the floor"},
		{"deletes the last one of a PVC that is gone", given{ready("new", 11*day)}.when(func(s *script) {
			s.gone(data)
			s.guardedDelete("new")
		}), ""},
		{"deletes the last one of a PVC that is not selected", given{ready("new", 11*day)}.when(func(s *script) {
			s.editClaim(func(o *corev1.PersistentVolumeClaim) { o.Labels = nil })
			s.editSchedule(func(o *v1alpha1.SnapshotSchedule) {
				o.Spec.Selector.MatchLabels = map[string]v1alpha1.LabelValue{"app": "shop"}
			})
			s.guardedDelete("new")
		}), "belongs to the floor"},
		{"deletes a slow upload", func() *script {
			slow := newSnapshot("slow", noon.Add(-20*day))
			cut(slow, slow.CreationTimestamp.Time)
			s := begin(ready("older", 21*day), slow)
			s.guardedDelete("slow", "older")
			return s
		}, "in progress"},
		{"deletes an uncut one that failed, with a slot due", given{newSnapshot("stuck", noon.Add(-7*time.Hour))}.when(func(s *script) {
			s.guardedDelete("stuck")
		}), ""},
		{"deletes an uncut one that failed, without a slot due", given{newSnapshot("stuck", noon)}.when(func(s *script) {
			s.wait(5 * time.Hour)
			s.guardedDelete("stuck")
		}), "within the TTL"},
		{"deletes an uncut one that failed, while suspended", given{newSnapshot("stuck", noon.Add(-7*time.Hour))}.when(func(s *script) {
			s.editSchedule(func(o *v1alpha1.SnapshotSchedule) { o.Spec.Suspend = true })
			s.wait(time.Minute)
			s.guardedDelete("stuck")
		}), "within the TTL"},
		{"deletes an uncut one of a terminating PVC", given{newSnapshot("young", noon)}.when(func(s *script) {
			s.editClaim(func(o *corev1.PersistentVolumeClaim) { o.DeletionTimestamp = &metav1.Time{Time: noon} })
			s.guardedDelete("young")
		}), ""},
		{"deletes an uncut young one", given{newSnapshot("young", noon)}.when(func(s *script) { s.guardedDelete("young") }), "in progress"},
		{"deletes what a tier keeps", expired().when(func(s *script) {
			s.editSchedule(func(o *v1alpha1.SnapshotSchedule) { o.Spec.Retention.Keep.Monthly = 2 })
			s.editSnapshot("old", func(o *snapshotv1.VolumeSnapshot) { o.CreationTimestamp.Time = noon.AddDate(0, -1, 0) })
			s.wait(10 * time.Second)
			s.guardedDelete("old", "new")
		}), "a tier keeps it"},
		{"deletes what a tier no longer keeps", expired().when(func(s *script) {
			s.editSchedule(func(o *v1alpha1.SnapshotSchedule) { o.Spec.Retention.Keep.Monthly = 1 })
			s.wait(10 * time.Second)
			s.guardedDelete("old", "new")
		}), ""},
		{"deletes the day's own for one of midnight that was created a moment before", midnight(time.Second), "a tier keeps it"},
		{"deletes the day's own for one of midnight that was created as long before as clocks may differ", midnight(62 * time.Second), "a tier keeps it"},
		{"deletes the day's own for one of midnight that was created longer before", midnight(63 * time.Second), ""},
		{"deletes the oldest beyond the cap", given{ready("a", 3*day), ready("b", 2*day), ready("c", day)}.when(func(s *script) {
			s.editSchedule(func(o *v1alpha1.SnapshotSchedule) { o.Spec.Retention.MaxCount = ptr.To(int32(2)) })
			s.guardedDelete("a", "c")
		}), ""},
		{"deletes the second beyond the cap before the first",
			given{ready("a", 3*day), ready("b", 2*day), ready("c", day)}.when(func(s *script) {
				s.editSchedule(func(o *v1alpha1.SnapshotSchedule) { o.Spec.Retention.MaxCount = ptr.To(int32(2)) })
				s.guardedDelete("b", "c")
			}), "3 for a cap of 2"},
		{"deletes one for a held one that does not count", func() *script {
			held := ready("a", 3*day)
			held.Annotations[v1alpha1.AnnotationHold] = ""
			s := begin(held, ready("b", 2*day), ready("c", day))
			s.editSchedule(func(o *v1alpha1.SnapshotSchedule) { o.Spec.Retention.MaxCount = ptr.To(int32(2)) })
			s.guardedDelete("b", "c")
			return s
		}, "2 for a cap of 2"},
		{"deletes by a driver's wrong time", given{ready("old", day), ready("new", time.Hour)}.when(func(s *script) {
			s.editSnapshot("old", func(o *snapshotv1.VolumeSnapshot) { cut(o, time.Unix(0, 0)) })
			s.guardedDelete("old", "new")
		}), "a tier keeps it"},
		{"deletes without a live read of the schedule", expired().when(func(s *script) {
			s.get(data)
			s.get("volumesnapshots/new")
			s.deletes("old")
		}), "live read of SnapshotSchedule"},
		{"deletes without a live read of the PVC", expired().when(func(s *script) {
			s.get("snapshotschedules/every")
			s.get("volumesnapshots/new")
			s.deletes("old")
		}), "live read of PVC"},
		{"deletes without a live read of the floor", expired().when(func(s *script) {
			s.guardedDelete("old")
		}), "live read of VolumeSnapshot new"},
		{"deletes without a live read of a floor created a moment ago", given{ready("old", 11*day)}.when(func(s *script) {
			s.others(ready("new", time.Hour))
			s.guardedDelete("old")
		}), "live read of VolumeSnapshot new"},
		{"deletes without a live read of the floor, of a PVC created a moment ago",
			given{ready("old", 11*day), ready("new", time.Hour)}.when(func(s *script) {
				s.gone(data)
				s.wait(time.Second)
				s.others(newClaim("data"))
				s.wait(time.Second)
				s.guardedDelete("old")
			}), "live read of VolumeSnapshot new"},
		{"deletes on a floor that is not the newest",
			given{ready("old", 11*day), ready("new", time.Hour), ready("newer", time.Minute)}.when(func(s *script) {
				s.guardedDelete("old", "new")
			}), ""},
		{"deletes on too few of the floor",
			given{ready("old", 11*day), ready("new", time.Hour), ready("newer", time.Minute)}.when(func(s *script) {
				s.editSchedule(func(o *v1alpha1.SnapshotSchedule) { o.Spec.Retention.MinReady = ptr.To(int32(2)) })
				s.wait(10 * time.Second)
				s.guardedDelete("old", "newer")
			}), "live read of VolumeSnapshot new"},
		{"deletes on one that is older", given{ready("older", 12*day), ready("old", 11*day), ready("new", time.Hour)}.when(func(s *script) {
			s.guardedDelete("old", "older")
		}), "live read of VolumeSnapshot new"},
		{"deletes on reads of another process", expired().when(func(s *script) {
			s.guards("new")
			s.process = 1
			s.deletes("old")
		}), "live read of SnapshotSchedule"},
		{"deletes on reads that are too old", expired().when(func(s *script) {
			s.guards("new")
			s.wait(10 * time.Second)
			s.deletes("old")
		}), "live read of SnapshotSchedule"},
		{"deletes on reads that had no answer", expired().when(func(s *script) {
			s.guards("new")
			for i := range s.Requests {
				s.Requests[i].Seen = 0
			}
			s.deletes("old")
		}), "live read of SnapshotSchedule"},
	})
}
