// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/simulation/kube"
)

// hourly returns a spec that takes an hourly snapshot and keeps two, of a group or of single PVCs.
func hourly(ofGroup bool) v1alpha1.SnapshotScheduleSpec {
	spec := v1alpha1.SnapshotScheduleSpec{Schedule: "0 * * * *", ReadyDeadline: "10m", Retention: v1alpha1.Retention{MaxCount: new(int32(2))}}
	spec.Selector.MatchLabels = map[string]v1alpha1.LabelValue{appLabel: "a"}
	if ofGroup {
		spec.Group = &v1alpha1.Group{}
	}
	return spec
}

// selectClaim has the schedule select the PVC, which goes only when nothing uses it.
func (s scenario) selectClaim() {
	s.edit(kube.Claims, "data", func(o client.Object) {
		o.SetLabels(map[string]string{appLabel: "a"})
		o.SetFinalizers([]string{finalizerInUse})
	})
}

// A driver refuses to delete for more than a day, as where snapshots have clones.
//
// Contract: RET-14, RET-15, RET-16.
func TestDeletesThatTheStorageRefuses(t *testing.T) {
	for name, ofGroup := range map[string]bool{"snapshots": false, "group snapshots": true} {
		t.Run(name, func(t *testing.T) {
			runScenario(t, start, hourly(ofGroup), func(s scenario) {
				k, count := kube.Snapshots, func(o v1alpha1.Outputs) *v1alpha1.OutputCount { return &o.VolumeSnapshots }
				if ofGroup {
					k, count = kube.Groups, func(o v1alpha1.Outputs) *v1alpha1.OutputCount { return o.VolumeGroupSnapshots }
				}
				expect := func(want v1alpha1.OutputCount) {
					t.Helper()
					terminating := len(slices.DeleteFunc(s.server.List(k), func(o client.Object) bool { return o.GetDeletionTimestamp() == nil }))
					if got := ptr.Deref(count(s.schedule("plan").Status.Outputs), v1alpha1.OutputCount{}); got != want || terminating != int(want.Terminating) {
						t.Errorf("%s: %d are being deleted, and status has %+v, want %+v", time.Now().UTC(), terminating, got, want)
					}
				}
				isStuck := func(p v1alpha1.Problem) bool { return p.Reason == v1alpha1.ReasonDeletionStuck }
				s.pass(0, s.selectClaim, func() { s.driver.modes["data"] = keeping })
				s.pass(30*time.Hour, func() { // half an hour after the 30th slot
					expect(v1alpha1.OutputCount{Total: 30, Ready: 20, Terminating: 10})
					s.expectReady(v1alpha1.ReasonRetentionFailing)
					s.expect(v1alpha1.ConditionProtected, v1alpha1.ReasonRecoveryPointsCurrent)
					if !slices.ContainsFunc(s.schedule("plan").Status.Problems, isStuck) {
						t.Errorf("problems are %+v", s.schedule("plan").Status.Problems)
					}
					clear(s.driver.modes)
				})
				s.pass(8*time.Hour, func() {
					expect(v1alpha1.OutputCount{Total: 2, Ready: 2})
					s.expectReady(v1alpha1.ReasonScheduled)
				})
			})
		})
	}
}

// Whoever may create VolumeSnapshots creates one that claims to be a member of a group snapshot and is never cut. It keeps its PVC from
// being deleted, and the operator may not delete it.
//
// Contract: GRP-3.
func TestWhoClaimsToBeAMemberKeepsItsPVC(t *testing.T) {
	runScenario(t, start, hourly(true), func(s scenario) {
		u := users{world: s.world, r: s.rand, claimNames: []string{"data"}}
		s.pass(0, s.selectClaim)
		s.pass(2*time.Hour, func() {
			s.driver.modes["data"] = down
			u.claimMembership(s.groups()[0])
		})
		s.pass(time.Minute, func() { s.delete(kube.Claims, "data") })
		s.pass(time.Hour, s.driver.recover)
		s.pass(day, func() {
			if c := s.claim("data"); c == nil || c.DeletionTimestamp == nil {
				t.Errorf("PVC is %+v, want one that is being deleted", c)
			}
			u.freeClaims()
		})
		s.pass(day, func() {
			for _, found := range s.judgeGroups() {
				t.Error(found)
			}
		})
	})
}

// The snapshot controller keeps a PVC while a snapshot of it is not ready, cut or not. The upload of one failed: it goes, since an older
// one is ready.
func TestAFailedSnapshotLetsItsPVCGo(t *testing.T) {
	runScenario(t, start, hourly(false), func(s scenario) {
		s.pass(0, s.selectClaim)
		s.pass(90*time.Minute, func() { s.driver.modes["data"] = failing })
		s.pass(time.Hour, func() { s.delete(kube.Claims, "data") })
		s.pass(time.Hour, func() {
			if c := s.claim("data"); c != (*corev1.PersistentVolumeClaim)(nil) {
				t.Errorf("PVC is %+v, want none", c)
			}
		})
	})
}
