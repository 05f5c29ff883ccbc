// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"strings"
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// unready adds a snapshot of a PVC that is not ready.
func (s *cluster) unready(name, claim string) *snapshotv1.VolumeSnapshot {
	s.broken = true
	v := s.newSnapshot(name, claim)
	v.Annotations = map[string]string{}
	v.Labels = map[string]string{v1alpha1.LabelMapKey: string(s.pvcs()[claim].UID), v1alpha1.LabelSchedule: "other"}
	v.Status = nil
	s.create(v)
	return v
}

// The snapshot controller keeps a PVC while a snapshot of it is not ready. One in progress is awaited before anything is scaled down.
//
// Contract: BACK-2.
func TestASnapshotInProgressIsAwaitedBeforeTheWorkloadIsScaledDown(t *testing.T) {
	s := newCluster(t, 2, false)
	s.advance(5)
	v := s.unready("data-db-1-late", "data-db-1")
	for range 5 {
		s.now = s.now.Add(time.Second)
		step, err := Next(s.observe())
		s.must(err)
		if step.Number != 5 || len(step.Changes) > 0 || !strings.Contains(step.Text, v.Name) || *s.set().Spec.Replicas != 2 {
			t.Fatalf("step %d %q, with %d replicas", step.Number, step.Text, *s.set().Spec.Replicas)
		}
		_, err = s.step(never)
		s.must(err)
	}
	s.broken = false
	s.advance(0)
	s.settle()
	if err := s.finished(earlier); err != nil {
		t.Error(err)
	}
}

// One that has failed is named: it would keep the old PVC from going forever.
//
// Contract: BACK-2.
func TestAFailedSnapshotThatWouldKeepThePVCIsNamed(t *testing.T) {
	for _, number := range []int{1, 5} {
		s := newCluster(t, 2, false)
		if number > 1 {
			s.advance(number)
		}
		v := s.unready("data-db-1-bad", "data-db-1")
		v.CreationTimestamp = metav1.NewTime(s.now.Add(-2 * time.Hour))
		v.Status = &snapshotv1.VolumeSnapshotStatus{
			ReadyToUse: ptr.To(false), CreationTime: ptr.To(v.CreationTimestamp),
			Error: &snapshotv1.VolumeSnapshotError{Time: ptr.To(v.CreationTimestamp), Message: ptr.To("quota exceeded")},
		}
		s.must(s.update(v))
		step, err := Next(s.observe())
		if err == nil || !strings.Contains(err.Error(), "VolumeSnapshot data-db-1-bad has failed: quota exceeded") {
			t.Errorf("before step %d: step %d %q, %v", number, step.Number, step.Text, err)
		}
		if n := *s.set().Spec.Replicas; n != 2 {
			t.Errorf("before step %d: %d replicas", number, n)
		}
	}
}
