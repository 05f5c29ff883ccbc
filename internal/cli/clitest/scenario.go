// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package clitest

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
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
)

// Scenario is a namespace in which everything is as the tests below want it: a
// schedule with tiers and a PVC in each state.
type Scenario struct {
	Now       time.Time
	Tiers     *v1alpha1.SnapshotSchedule
	suspended *v1alpha1.SnapshotSchedule
	invalid   *v1alpha1.SnapshotSchedule
	Inv       *view.Inventory
}

// NewScenario returns the namespace shop with schedules, PVCs and snapshots.
func NewScenario() *Scenario {
	s := &Scenario{
		Now: Start.AddDate(0, 0, 30).Add(20 * time.Minute),
		Tiers: Schedule("tiers", v1alpha1.SnapshotScheduleSpec{
			SnapshotInterval: "6h",
			Selector:         v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"app": "db"}},
			Retention:        v1alpha1.Retention{Keep: v1alpha1.Keep{Last: 2, Daily: 7, Weekly: 3}},
		}),
		suspended: Schedule("paused", v1alpha1.SnapshotScheduleSpec{
			Schedule: "30 2 * * *", Suspend: true, Selector: v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"app": "web"}},
		}),
		invalid: Schedule("broken", v1alpha1.SnapshotScheduleSpec{
			Schedule: "0 0 30 2 *", Selector: v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"app": "cache"}},
		}),
		Inv: &view.Inventory{Claims: map[string][]client.Object{}, Snapshots: map[string][]client.Object{}},
	}
	s.Tiers.Status.ObservedGeneration = 1
	s.Tiers.Status.Conditions = []metav1.Condition{{
		Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonSnapshotsFailing,
		Message: "1 of 4 PersistentVolumeClaims failing: db-1: CreateFailed: denied by quota",
	}}
	s.Tiers.Status.Problems = []v1alpha1.Problem{
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
	gone := Claim("db-9", nil)
	s.snapshot(gone, 8)
	s.Inv.Snapshots["shop"][len(s.Inv.Snapshots["shop"])-1].SetUID("gone")
	left := Snapshot(Schedule("old", v1alpha1.SnapshotScheduleSpec{}), complete, Start)
	s.Inv.Snapshots["shop"] = append(s.Inv.Snapshots["shop"], left)
	return s
}

func (s *Scenario) claim(name, app string) *corev1.PersistentVolumeClaim {
	c := Claim(name, map[string]string{"app": app})
	s.Inv.Claims["shop"] = append(s.Inv.Claims["shop"], c)
	return c
}

// snapshot adds a snapshot that was taken some slots before the current one.
func (s *Scenario) snapshot(c *corev1.PersistentVolumeClaim, slots int) *snapshotv1.VolumeSnapshot {
	v := Snapshot(s.Tiers, c, s.Now.Truncate(6*time.Hour).Add(-time.Duration(slots)*6*time.Hour))
	s.Inv.Snapshots["shop"] = append(s.Inv.Snapshots["shop"], v)
	return v
}

// Schedules returns all schedules of the scenario.
func (s *Scenario) Schedules() []*v1alpha1.SnapshotSchedule {
	return []*v1alpha1.SnapshotSchedule{s.invalid, s.suspended, s.Tiers}
}

// Golden compares printed text with what it should be.
func Golden(t *testing.T, write func(*bytes.Buffer) error, want string) {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, "\n"+b.String()); diff != "" {
		t.Errorf("text (-want +have):\n%s\n%s", diff, b.String())
	}
}

// NewDrilled returns a scenario with snapshots that were restored in drills.
func NewDrilled(t *testing.T) *Scenario {
	t.Helper()
	s := NewScenario()
	s.Tiers.Spec.Retention.MinVerified = 1
	of := func(claim string, slots int) *snapshotv1.VolumeSnapshot {
		for _, o := range s.Inv.Snapshots["shop"] {
			if at := s.Now.Truncate(6 * time.Hour).Add(-time.Duration(slots) * 6 * time.Hour); o.GetName() == claim+"-"+at.Format("20060102150405") {
				return o.(*snapshotv1.VolumeSnapshot)
			}
		}
		t.Fatalf("no snapshot of %s", claim)
		return nil
	}
	ago := func(d time.Duration) string { return term.Timestamp(s.Now.Add(-d)) }
	of("db-0", 37).Annotations[v1alpha1.AnnotationVerifiedAt] = ago(5 * term.Day)
	of("db-0", 1).Annotations[v1alpha1.AnnotationVerifyFailed] = ago(time.Hour) + " checksum \x1b[2Jdiffers"
	of("db-1", 5).Annotations[v1alpha1.AnnotationVerifyFailed] = ago(time.Hour) + " empty"
	return s
}

// Delayed returns the scenario's schedule with tiers, with a delay whose record is old,
// and the same with a stricter spec.
func Delayed(s *Scenario) (present, stricter *v1alpha1.SnapshotSchedule) {
	present = s.Tiers.DeepCopy()
	present.Generation = 2
	present.Spec.Retention.EditDelay = "2h"
	present.Spec.Retention.Keep = v1alpha1.Keep{Last: 100}
	present.Status.Retention = &v1alpha1.RetentionRecord{Generation: 2, SinceTime: metav1.NewTime(s.Now.Add(-term.Day)), EditDelay: "2h"}
	stricter = present.DeepCopy()
	stricter.Generation = 3
	stricter.Spec.Retention = v1alpha1.Retention{Keep: v1alpha1.Keep{Last: 2}}
	return present, stricter
}
