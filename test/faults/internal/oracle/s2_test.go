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

func expired() *script { return begin(ready("old", 11*day), ready("new", time.Hour)) }

func TestS2(t *testing.T) {
	const data = "persistentvolumeclaims/data"
	judge(t, S2, []story{
		{"deletes an expired one", func() *script {
			s := expired()
			s.guards("new")
			s.deletes("old")
			return s
		}, ""},
		{"deletes one a minute too early", func() *script {
			s := begin(ready("old", 10*day-2*time.Minute), ready("new", time.Hour))
			s.guards("new")
			s.deletes("old")
			return s
		}, "a tier keeps it"},
		{"deletes by a clock that is ahead within bounds", func() *script {
			s := begin(ready("old", 10*day-100*time.Second), ready("new", time.Hour))
			s.ahead = 45 * time.Second
			s.guards("new")
			s.deletes("old")
			return s
		}, ""},
		{"deletes by a clock that is ahead beyond bounds", func() *script {
			s := begin(ready("old", 10*day-10*time.Minute), ready("new", time.Hour))
			s.ahead = time.Hour
			s.guards("new")
			s.deletes("old")
			return s
		}, "a tier keeps it"},
		{"deletes what is within the new TTL", func() *script {
			s := expired()
			s.editSchedule(func(o *v1alpha1.SnapshotSchedule) { o.Spec.SnapshotTTL = "1y" })
			s.wait(20 * time.Second)
			s.guards("new")
			s.deletes("old")
			return s
		}, "a tier keeps it"},
		{"deletes a moment after the TTL was made longer", func() *script {
			s := expired()
			s.guards("new")
			s.wait(time.Second)
			s.editSchedule(func(o *v1alpha1.SnapshotSchedule) { o.Spec.SnapshotTTL = "1y" })
			s.wait(time.Second)
			s.deletes("old")
			return s
		}, ""},
		{"deletes on what the guards saw long ago", func() *script {
			s := expired()
			s.guards("new")
			s.editSchedule(func(o *v1alpha1.SnapshotSchedule) { o.Spec.SnapshotTTL = "1y" })
			s.wait(time.Minute)
			s.get("snapshotschedules/every")
			s.get(data)
			s.get("volumesnapshots/new")
			s.deletes("old")
			return s
		}, "a tier keeps it"},
		{"deletes on a live read that was a lie", func() *script {
			s := expired()
			before := s.there["snapshotschedules/every"]
			s.editSchedule(func(o *v1alpha1.SnapshotSchedule) { o.Spec.SnapshotTTL = "1y" })
			s.wait(time.Minute)
			show(s.get("snapshotschedules/every"), before)
			s.get(data)
			s.get("volumesnapshots/new")
			s.deletes("old")
			return s
		}, ""},
		{"deletes one that is held", func() *script {
			s := expired()
			s.editSnapshot("old", func(o *snapshotv1.VolumeSnapshot) { o.Annotations[v1alpha1.AnnotationHold] = "" })
			s.guards("new")
			s.deletes("old")
			return s
		}, "held by annotation"},
		{"deletes one that is being restored", func() *script {
			s := expired()
			s.others(restoreOf(ready("old", 0), "restored"))
			s.wait(10 * time.Second)
			s.guards("new")
			s.deletes("old")
			return s
		}, "being restored"},
		{"deletes one that has been restored", func() *script {
			s := expired()
			restored := restoreOf(ready("old", 0), "restored")
			restored.Status.Phase = corev1.ClaimBound
			s.others(restored)
			s.wait(10 * time.Second)
			s.guards("new")
			s.deletes("old")
			return s
		}, ""},
		{"deletes the newest ready one", func() *script {
			s := begin(ready("old", 12*day), ready("new", 11*day))
			s.guards("old")
			s.deletes("new")
			return s
		}, "belongs to the floor"},
		{"deletes the last one of a PVC that is gone", func() *script {
			s := begin(ready("new", 11*day))
			s.gone(data)
			s.guards()
			s.deletes("new")
			return s
		}, ""},
		{"deletes the last one of a PVC that is not selected", func() *script {
			s := begin(ready("new", 11*day))
			s.editClaim(func(o *corev1.PersistentVolumeClaim) { o.Labels = nil })
			s.editSchedule(func(o *v1alpha1.SnapshotSchedule) { o.Spec.Selector.MatchLabels = map[string]string{"app": "shop"} })
			s.guards()
			s.deletes("new")
			return s
		}, "belongs to the floor"},
		{"deletes a slow upload", func() *script {
			slow := newSnapshot("slow", noon.Add(-20*day))
			cut(slow, slow.CreationTimestamp.Time)
			s := begin(ready("older", 21*day), slow)
			s.guards("older")
			s.deletes("slow")
			return s
		}, "under way"},
		{"deletes an uncut one that failed, with a slot due", func() *script {
			s := begin(newSnapshot("stuck", noon.Add(-7*time.Hour)))
			s.guards()
			s.deletes("stuck")
			return s
		}, ""},
		{"deletes an uncut one that failed, without a slot due", func() *script {
			s := begin(newSnapshot("stuck", noon))
			s.wait(5 * time.Hour)
			s.guards()
			s.deletes("stuck")
			return s
		}, "within the TTL"},
		{"deletes an uncut one that failed, while suspended", func() *script {
			s := begin(newSnapshot("stuck", noon.Add(-7*time.Hour)))
			s.editSchedule(func(o *v1alpha1.SnapshotSchedule) { o.Spec.Suspend = true })
			s.wait(time.Minute)
			s.guards()
			s.deletes("stuck")
			return s
		}, "within the TTL"},
		{"deletes an uncut one of a PVC that goes", func() *script {
			s := begin(newSnapshot("young", noon))
			s.editClaim(func(o *corev1.PersistentVolumeClaim) { o.DeletionTimestamp = &metav1.Time{Time: noon} })
			s.guards()
			s.deletes("young")
			return s
		}, ""},
		{"deletes an uncut young one", func() *script {
			s := begin(newSnapshot("young", noon))
			s.guards()
			s.deletes("young")
			return s
		}, "under way"},
		{"deletes what a tier keeps", func() *script {
			s := expired()
			s.editSchedule(func(o *v1alpha1.SnapshotSchedule) { o.Spec.Retention.Keep.Monthly = 2 })
			s.editSnapshot("old", func(o *snapshotv1.VolumeSnapshot) { o.CreationTimestamp.Time = noon.AddDate(0, -1, 0) })
			s.wait(10 * time.Second)
			s.guards("new")
			s.deletes("old")
			return s
		}, "a tier keeps it"},
		{"deletes what a tier no longer keeps", func() *script {
			s := expired()
			s.editSchedule(func(o *v1alpha1.SnapshotSchedule) { o.Spec.Retention.Keep.Monthly = 1 })
			s.wait(10 * time.Second)
			s.guards("new")
			s.deletes("old")
			return s
		}, ""},
		{"deletes the oldest beyond the cap", func() *script {
			s := begin(ready("a", 3*day), ready("b", 2*day), ready("c", day))
			s.editSchedule(func(o *v1alpha1.SnapshotSchedule) { o.Spec.Retention.MaxCount = ptr.To(int32(2)) })
			s.guards("c")
			s.deletes("a")
			return s
		}, ""},
		{"deletes the second beyond the cap before the first", func() *script {
			s := begin(ready("a", 3*day), ready("b", 2*day), ready("c", day))
			s.editSchedule(func(o *v1alpha1.SnapshotSchedule) { o.Spec.Retention.MaxCount = ptr.To(int32(2)) })
			s.guards("c")
			s.deletes("b")
			return s
		}, "3 for a cap of 2"},
		{"deletes one for a held one that does not count", func() *script {
			held := ready("a", 3*day)
			held.Annotations[v1alpha1.AnnotationHold] = ""
			s := begin(held, ready("b", 2*day), ready("c", day))
			s.editSchedule(func(o *v1alpha1.SnapshotSchedule) { o.Spec.Retention.MaxCount = ptr.To(int32(2)) })
			s.guards("c")
			s.deletes("b")
			return s
		}, "2 for a cap of 2"},
		{"deletes by a driver's wrong time", func() *script {
			s := begin(ready("old", day), ready("new", time.Hour))
			s.editSnapshot("old", func(o *snapshotv1.VolumeSnapshot) { cut(o, time.Unix(0, 0)) })
			s.guards("new")
			s.deletes("old")
			return s
		}, "a tier keeps it"},
		{"deletes without a live read of the schedule", func() *script {
			s := expired()
			s.get(data)
			s.get("volumesnapshots/new")
			s.deletes("old")
			return s
		}, "live read of SnapshotSchedule"},
		{"deletes without a live read of the PVC", func() *script {
			s := expired()
			s.get("snapshotschedules/every")
			s.get("volumesnapshots/new")
			s.deletes("old")
			return s
		}, "live read of PVC"},
		{"deletes without a live read of the floor", func() *script {
			s := expired()
			s.guards()
			s.deletes("old")
			return s
		}, "live read of VolumeSnapshot new"},
		{"deletes without a live read of a floor that has just come", func() *script {
			s := begin(ready("old", 11*day))
			s.others(ready("new", time.Hour))
			s.guards()
			s.deletes("old")
			return s
		}, "live read of VolumeSnapshot new"},
		{"deletes without a live read of the floor, of a PVC that has just come", func() *script {
			s := begin(ready("old", 11*day), ready("new", time.Hour))
			s.gone(data)
			s.wait(time.Second)
			s.others(newClaim("data"))
			s.wait(time.Second)
			s.guards()
			s.deletes("old")
			return s
		}, "live read of VolumeSnapshot new"},
		{"deletes on a floor that is not the newest", func() *script {
			s := begin(ready("old", 11*day), ready("new", time.Hour), ready("newer", time.Minute))
			s.guards("new")
			s.deletes("old")
			return s
		}, ""},
		{"deletes on too few of the floor", func() *script {
			s := begin(ready("old", 11*day), ready("new", time.Hour), ready("newer", time.Minute))
			s.editSchedule(func(o *v1alpha1.SnapshotSchedule) { o.Spec.Retention.MinReady = ptr.To(int32(2)) })
			s.wait(10 * time.Second)
			s.guards("newer")
			s.deletes("old")
			return s
		}, "live read of VolumeSnapshot new"},
		{"deletes on one that is older", func() *script {
			s := begin(ready("older", 12*day), ready("old", 11*day), ready("new", time.Hour))
			s.guards("older")
			s.deletes("old")
			return s
		}, "live read of VolumeSnapshot new"},
		{"deletes on reads of another process", func() *script {
			s := expired()
			s.guards("new")
			s.process = 1
			s.deletes("old")
			return s
		}, "live read of SnapshotSchedule"},
		{"deletes on reads that are too old", func() *script {
			s := expired()
			s.guards("new")
			s.wait(10 * time.Second)
			s.deletes("old")
			return s
		}, "live read of SnapshotSchedule"},
		{"deletes on reads that had no answer", func() *script {
			s := expired()
			s.guards("new")
			for i := range s.Requests {
				s.Requests[i].Seen = 0
			}
			s.deletes("old")
			return s
		}, "live read of SnapshotSchedule"},
	})
}
