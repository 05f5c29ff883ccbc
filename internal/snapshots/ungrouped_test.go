// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"encoding/json"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
)

// apart takes PVCs with app=db that have the same value of the label instance together.
func (s scheduleBuilder) apart() scheduleBuilder {
	s = s.grouped()
	s.Spec.Group.ByLabel = "instance"
	return s
}

// A PVC without the label of its group is skipped as any other is, and its own snapshots, of an earlier spec, protect it.
//
// Contract: GRP-4, MAP-11, CLASS-1, PROT-1, PROT-2, STAT-16, VER-4, VER-5.
func TestWhatIsKnownOfAPVCThatBelongsToNoGroup(t *testing.T) {
	const (
		mismatch  = "False SnapshotsFailing"
		scheduled = "True Scheduled"
		current   = "True RecoveryPointsCurrent"
		old       = "False RecoveryPointsOld"
		counts    = "Unknown NoMatchingClaims" // no PVC does
	)
	anchor := ago(9*day + time.Hour)
	other := classes{class("fast", "other.example.com")}
	for name, tc := range map[string]struct {
		claim     claimBuilder
		snapshots series
		classes   classes

		ready, protected string
		recovery         time.Time // the oldest
		noneReady        bool
		verified         time.Time
		problems         []string
	}{
		"with a recent snapshot": {
			claim: claim("data"), snapshots: series{ready(13 * time.Hour), ready(time.Hour)},
			ready: mismatch, protected: current, recovery: ago(time.Hour), problems: []string{v1alpha1.ReasonGroupMismatch},
		},
		"with an old one": {
			claim: claim("data"), snapshots: series{ready(30 * time.Hour)},
			ready: mismatch, protected: old, recovery: ago(30 * time.Hour), problems: []string{v1alpha1.ReasonGroupMismatch},
		},
		"with none that is ready": {
			claim: claim("data"), snapshots: series{erring(30 * time.Hour), ready(time.Hour).deleting()},
			ready: mismatch, protected: old, recovery: anchor, noneReady: true, problems: []string{v1alpha1.ReasonGroupMismatch},
		},
		"without snapshots": {
			claim: claim("data"), ready: mismatch, protected: old, recovery: anchor, noneReady: true,
			problems: []string{v1alpha1.ReasonGroupMismatch},
		},
		"new": {
			claim: claim("data").created(ago(time.Minute)), ready: mismatch, protected: "Unknown FirstSnapshotsPending",
			recovery: ago(time.Minute), noneReady: true, problems: []string{v1alpha1.ReasonGroupMismatch},
		},
		"whose drill failed": {
			claim: claim("data"), snapshots: series{ready(7 * time.Hour).verified(rfc3339(ago(6 * time.Hour))), ready(time.Hour).verifyFailed(rfc3339(ago(time.Minute)) + " why")},
			ready: mismatch, protected: current, recovery: ago(time.Hour), verified: ago(6 * time.Hour),
			problems: []string{v1alpha1.ReasonGroupMismatch, v1alpha1.ReasonVerificationFailed},
		},
		"not Bound": {
			claim: claim("data").phase(corev1.ClaimPending), ready: scheduled, protected: counts,
		},
		"not Bound, with snapshots": {
			claim: claim("data").phase(corev1.ClaimPending), snapshots: series{ready(30 * time.Hour).verified(rfc3339(ago(day)))},
			ready: scheduled, protected: counts,
		},
		"being deleted": {
			claim: claim("data").deleting(), snapshots: series{ready(time.Hour)}, ready: scheduled, protected: counts,
		},
		"lost": {
			claim: claim("data").phase(corev1.ClaimLost), ready: mismatch, protected: counts, problems: []string{v1alpha1.ReasonClaimLost},
		},
		"never snapshottable": {
			claim: claim("data").of(testDriver), classes: other, ready: scheduled, protected: "False NotSnapshottable",
		},
		"once snapshottable": {
			claim: claim("data").of(testDriver), classes: other, snapshots: series{ready(time.Hour)},
			ready: mismatch, protected: current, recovery: ago(time.Hour), problems: []string{v1alpha1.ReasonGroupMismatch},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := every("6h").apart()
			of := mapCase{schedule: s, claim: tc.claim.member(), snapshots: tc.snapshots, classes: tc.classes}
			d := of.decider(t)(of.observe())
			if len(d.Ensure) > 0 {
				t.Errorf("takes %v singly", namesOfDesired(d))
			}
			setStatus(noon, s.SnapshotSchedule, known(1, statusOf(d)))
			if got := condition(s.SnapshotSchedule, v1alpha1.ConditionReady); got != tc.ready {
				t.Errorf("Ready is %s, want %s", got, tc.ready)
			}
			if got := condition(s.SnapshotSchedule, v1alpha1.ConditionProtected); got != tc.protected {
				t.Errorf("Protected is %s, want %s", got, tc.protected)
			}
			var reasons []string
			for _, p := range s.Status.Problems {
				reasons = append(reasons, p.Reason)
			}
			if toJSON(reasons) != toJSON(tc.problems) {
				t.Errorf("problems %v, want %v", reasons, tc.problems)
			}
			if skipped := s.Status.Inputs.PersistentVolumeClaims.Skipped == 1; skipped != tc.recovery.IsZero() {
				t.Errorf("is skipped: %t", skipped)
			}
			recent := timeOf(tc.recovery)
			if tc.noneReady {
				recent = nil
			}
			got, want := []any{s.Status.OldestRecoveryPointTime, s.Status.RecoveryPointTime, s.Status.OldestVerifiedTime}, []any{timeOf(tc.recovery), recent, timeOf(tc.verified)}
			if toJSON(got) != toJSON(want) {
				t.Errorf("times %s, want %s", toJSON(got), toJSON(want))
			}
		})
	}
}

// A group of which one PVC is not Bound is stopped, not skipped. That PVC is.
//
// Contract: VER-4, VER-5, PROT-2, STAT-16.
func TestASkippedPVCOfAGroupCountsForNothing(t *testing.T) {
	for phase, want := range map[corev1.PersistentVolumeClaimPhase]struct {
		problems []string
		verified time.Time
	}{
		corev1.ClaimBound:   {[]string{v1alpha1.ReasonVerificationFailed}, ago(40 * time.Hour)},
		corev1.ClaimPending: {[]string{v1alpha1.ReasonGroupStopped}, ago(2 * time.Hour)},
	} {
		s := every("6h").grouped()
		tc := groupCase{schedule: s, claims: []claimBuilder{claim("a"), claim("b").phase(phase)}, groups: []groupBuilder{
			group(41*time.Hour, "b", "b").with(func(m []client.Object) { annotate(m[0], v1alpha1.AnnotationVerifiedAt, rfc3339(ago(40*time.Hour))) }),
			group(3*time.Hour, "a", "a").with(func(m []client.Object) { annotate(m[0], v1alpha1.AnnotationVerifiedAt, rfc3339(ago(2*time.Hour))) }),
			group(time.Hour, "a b", "a b").with(func(m []client.Object) {
				annotate(m[1], v1alpha1.AnnotationVerifyFailed, rfc3339(ago(time.Minute))+" why")
			}),
		}}
		setStatus(noon, s.SnapshotSchedule, known(2, statusOf(tc.decide(t))))
		var reasons []string
		for _, p := range s.Status.Problems {
			reasons = append(reasons, p.Reason)
		}
		if toJSON(reasons) != toJSON(want.problems) || !s.Status.OldestVerifiedTime.Time.Equal(want.verified) {
			t.Errorf("%s: problems %v, verified at %v; want %v, %v", phase, reasons, s.Status.OldestVerifiedTime, want.problems, want.verified)
		}
	}
}

// Whichever way a key is decided, each of its snapshots is counted in its state. Those of no selected PVC count as detached alone.
//
// Contract: MET-1, STAT-1.
func TestTheCountsOfAKeyAreWhatItsSnapshotsSay(t *testing.T) {
	const isReady, isPending, hasFailed, isTerminating = 0, 1, 2, 3
	single := func(age time.Duration, state int) client.Object {
		return [...]snapshotBuilder{ready(age), uploading(age), erring(age), ready(age).deleting()}[state].VolumeSnapshot
	}
	together := func(age time.Duration, state int) client.Object {
		g := group(age, "a", "")
		switch state {
		case isPending:
			g = g.unready()
		case hasFailed:
			g = g.unready()
			must(t, json.Unmarshal([]byte(`{"error":{"message":"no"}}`), g.Status))
		case isTerminating:
			markDeleting(g)
		}
		return g.VolumeGroupSnapshot
	}
	for name, of := range map[string]struct {
		schedule scheduleBuilder
		key      string
		selected bool
		snapshot func(time.Duration, int) client.Object
	}{
		"of a PVC":                      {every("6h"), "a-uid", true, single},
		"of a PVC that is not selected": {every("6h"), "a-uid", false, single},
		"of a PVC without a group":      {every("6h").apart(), "a-uid", true, single},
		"of a group":                    {every("6h").grouped(), wholeKey, true, together},
		"of a group without PVCs":       {every("6h").grouped(), wholeKey, false, together},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := Compile(of.schedule.readyDeadline("1h").SnapshotSchedule)
			must(t, err)
			rapid.Check(t, func(t *rapid.T) {
				seen := mapcontroller.Observation{Now: noon, MapKey: of.key}
				decide, want := p.Tombstone, [4]int32{}
				if of.selected {
					seen.Selected, decide = []client.Object{claim("a").member().PersistentVolumeClaim}, p.Map
				}
				for i, state := range rapid.SliceOfN(rapid.IntRange(isReady, isTerminating), 1, 8).Draw(t, "states") {
					seen.Outputs = append(seen.Outputs, of.snapshot(time.Duration(8-i)*7*time.Hour, state))
					if of.selected {
						want[state]++
					}
				}
				got := statusOf(decide(seen))
				if got.Pending != want[isPending] || got.Failed != want[hasFailed] || got.Terminating != want[isTerminating] {
					t.Fatalf("%d pending, %d failed, %d terminating; want %v", got.Pending, got.Failed, got.Terminating, want[isPending:])
				}
			})
		})
	}
}
