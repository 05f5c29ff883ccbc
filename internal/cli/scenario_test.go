// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// scenario is a namespace in which everything is as the tests below want it: a
// schedule with tiers and a PVC in each state.
type scenario struct {
	now       time.Time
	tiers     *v1alpha1.SnapshotSchedule
	suspended *v1alpha1.SnapshotSchedule
	invalid   *v1alpha1.SnapshotSchedule
	inv       *inventory
}

func newScenario() *scenario {
	s := &scenario{
		now: start.AddDate(0, 0, 30).Add(20 * time.Minute),
		tiers: testSchedule("tiers", v1alpha1.SnapshotScheduleSpec{
			SnapshotInterval: "6h",
			Selector:         v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"app": "db"}},
			Retention:        v1alpha1.Retention{Keep: v1alpha1.Keep{Last: 2, Daily: 7, Weekly: 3}},
		}),
		suspended: testSchedule("paused", v1alpha1.SnapshotScheduleSpec{
			Schedule: "30 2 * * *", Suspend: true, Selector: v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"app": "web"}},
		}),
		invalid: testSchedule("broken", v1alpha1.SnapshotScheduleSpec{
			Schedule: "0 0 30 2 *", Selector: v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"app": "cache"}},
		}),
		inv: &inventory{claims: map[string][]client.Object{}, snapshots: map[string][]client.Object{}},
	}
	s.tiers.Status.ObservedGeneration = 1
	s.tiers.Status.Conditions = []metav1.Condition{{
		Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonSnapshotsFailing,
		Message: "1 of 4 PersistentVolumeClaims failing; first db-1: CreateFailed: denied by quota",
	}}
	s.tiers.Status.Problems = []v1alpha1.Problem{
		{PersistentVolumeClaim: "db-1", Reason: v1alpha1.ReasonCreateFailed, Message: "denied by quota"},
		{PersistentVolumeClaim: "db-1", Reason: v1alpha1.ReasonSnapshotOverdue, Message: "outdated"},
	}
	complete := s.claim("db-0", "db")
	for i := range 40 {
		s.snapshot(complete, i)
	}
	s.snapshot(complete, 70).Annotations[v1alpha1.AnnotationHold] = "audit"
	behind := s.claim("db-1", "db")
	s.snapshot(behind, 0).Status = nil
	failed := s.snapshot(behind, 2)
	failed.Status.ReadyToUse, failed.Status.Error = ptr.To(false), &snapshotv1.VolumeSnapshotError{Message: ptr.To("limit of 3 reached")}
	s.snapshot(behind, 5)
	s.claim("db-2", "db").Status.Phase = corev1.ClaimPending
	s.claim("web-0", "web")
	s.claim("cache-0", "cache")
	s.claim("scratch", "none")
	gone := testClaim("db-9", nil)
	s.snapshot(gone, 8)
	s.inv.snapshots["shop"][len(s.inv.snapshots["shop"])-1].SetUID("gone")
	left := testSnapshot(testSchedule("old", v1alpha1.SnapshotScheduleSpec{}), complete, start)
	s.inv.snapshots["shop"] = append(s.inv.snapshots["shop"], left)
	return s
}

func (s *scenario) claim(name, app string) *corev1.PersistentVolumeClaim {
	c := testClaim(name, map[string]string{"app": app})
	s.inv.claims["shop"] = append(s.inv.claims["shop"], c)
	return c
}

// snapshot adds a snapshot that was taken some slots before the current one.
func (s *scenario) snapshot(c *corev1.PersistentVolumeClaim, slots int) *snapshotv1.VolumeSnapshot {
	v := testSnapshot(s.tiers, c, s.now.Truncate(6*time.Hour).Add(-time.Duration(slots)*6*time.Hour))
	s.inv.snapshots["shop"] = append(s.inv.snapshots["shop"], v)
	return v
}

func (s *scenario) schedules() []*v1alpha1.SnapshotSchedule {
	return []*v1alpha1.SnapshotSchedule{s.invalid, s.suspended, s.tiers}
}

// golden compares printed text with what it should be.
func golden(t *testing.T, write func(*bytes.Buffer) error, want string) {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, "\n"+b.String()); diff != "" {
		t.Errorf("text (-want +have):\n%s\n%s", diff, b.String())
	}
}
