// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"maps"
	"slices"
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/backup"
)

// lives are when the snapshots of a schedule were created and deleted, by slot. The time of deletion is zero of those that are left.
type lives map[time.Time][2]time.Time

// liveOf lets the decisions of a schedule run on for days, hour by hour. All snapshots become ready at once. At one time,
// a rollback creates the PVC again and carries its snapshots over.
func liveOf(t *testing.T, s scheduleBuilder, days int, rollback time.Time) lives {
	judge, err := NewJudge(judgeScheme(t), s.SnapshotSchedule, Classes{})
	must(t, err)
	c, all := claim("data").created(ago(9*day)), lives{}
	var made []client.Object
	for now := ago(9 * day); now.Before(in(time.Duration(days) * day)); now = now.Add(time.Hour) {
		if now.Equal(rollback) {
			c.UID, c.CreationTimestamp = "new-uid", metav1.NewTime(now)
			for _, v := range made {
				v.GetLabels()[v1alpha1.LabelMapKey] = "new-uid"
			}
		}
		d := judge.Judge(now, Series{MapKey: string(c.UID), Claims: []*corev1.PersistentVolumeClaim{c.PersistentVolumeClaim}, Snapshots: made})
		for _, o := range d.Create {
			v := o.(*snapshotv1.VolumeSnapshot)
			v.UID, v.CreationTimestamp = types.UID(v.Name), metav1.NewTime(now)
			v.Status = &snapshotv1.VolumeSnapshotStatus{ReadyToUse: new(true), CreationTime: &v.CreationTimestamp}
			stripped, err := stripSnapshot(v) // as the cache keeps it
			must(t, err)
			made = append(made, stripped.(client.Object))
			all[backup.SlotOf(v)] = [2]time.Time{now}
		}
		for _, r := range d.Delete {
			all[backup.SlotOf(r.Object)] = [2]time.Time{all[backup.SlotOf(r.Object)][0], now}
			made = slices.DeleteFunc(made, func(v client.Object) bool { return v.GetUID() == r.Object.GetUID() })
		}
	}
	return all
}

func keepingLast(s scheduleBuilder, n int32) scheduleBuilder {
	s.Spec.Retention.Keep.Last = n
	return s
}

// The rhythm outlives the snapshots that a rollback carried over: else the slots jump to the creation of the new PVC when
// the last of them goes, and one snapshot more displaces an older one.
//
// Contract: SLOT-15.
func TestARollbackChangesNothingForEver(t *testing.T) {
	for name, s := range map[string]func() scheduleBuilder{
		"an interval, a cap":           func() scheduleBuilder { return every("24h").maxCount(3) },
		"an interval, tiers":           func() scheduleBuilder { return keepingLast(every("24h"), 3) },
		"an interval, an age, tiers":   func() scheduleBuilder { return keepingLast(every("24h").ttl("3d"), 3) },
		"a short interval, an age":     func() scheduleBuilder { return every("6h").ttl("1d") },
		"a cron line, a cap":           func() scheduleBuilder { return cron("0 2 * * *", "").maxCount(3) },
		"an interval with a jitter":    func() scheduleBuilder { return every("24h").jitter("20h").maxCount(2) },
		"an interval, a request later": func() scheduleBuilder { return every("24h").maxCount(3).requested(rfc3339(in(30 * time.Hour))) },
	} {
		t.Run(name, func(t *testing.T) {
			want, got := liveOf(t, s(), 20, time.Time{}), liveOf(t, s(), 20, in(7*time.Hour))
			if !maps.Equal(got, want) {
				t.Errorf("with the rollback\n%v\nwithout it\n%v", got, want)
			}
		})
	}
}
