// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package storm

import (
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

func TestOutcome(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	now := start
	s := newObserver(func() time.Time { return now })
	change := func(after time.Duration, namespace, name string, isCut bool) {
		now = start.Add(after)
		v := &snapshotv1.VolumeSnapshot{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(namespace + name)}}
		if isCut {
			v.Status = &snapshotv1.VolumeSnapshotStatus{CreationTime: &metav1.Time{Time: now}}
		}
		s.changed(watch.Modified, v)
	}
	s.due(many)
	change(time.Second, many, "a", false)
	change(time.Second, many, "b", false)
	change(10*time.Second, many, "a", true)
	now = start.Add(15 * time.Second)
	s.due(tenant)
	change(18*time.Second, tenant, "a", false)
	change(20*time.Second, tenant, "a", true)
	if s.finished(many, 2) || !s.finished(tenant, 1) {
		t.Error("one of two, or the only one, does not count")
	}
	change(41*time.Second, many, "b", true)
	change(42*time.Second, many, "b", true)
	want := Outcome{
		Limit: 7, Claims: 2, Took: 41 * time.Second, MostInFlight: 2, Missed: 1, Longest: 40 * time.Second,
		TenantCreated: 3 * time.Second, TenantCut: 5 * time.Second,
	}
	if got := s.outcome(Job{Limit: 7, Claims: 2, ReadyDeadline: 40 * time.Second}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if rate := want.Rate(); rate < 0.048 || rate > 0.049 {
		t.Errorf("%.3f per second", rate)
	}
}
