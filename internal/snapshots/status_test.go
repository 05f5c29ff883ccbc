// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
)

type situation = mapcontroller.Situation[Note]

// known is a settled situation of so many PVCs, with three snapshots each and
// one PVC detached.
func known(claims int, notes ...Note) situation {
	return situation{
		Settled: true,
		Note:    fold(notes),
		Totals: &mapcontroller.Totals{
			Inputs:          map[string]int{claimsResource: claims},
			Outputs:         map[string]map[string]int{snapshotsResource: {"total": 3 * claims, "ready": 2 * claims}},
			DetachedKeys:    1,
			DetachedOutputs: map[string]int{snapshotsResource: 2},
		},
	}
}

func skippedNote(name, why string) Note {
	return Note{Skipped: 1, FirstSkipped: Skipped{Claim: name, Why: why}}
}

func problemNote(name, reason, message string) Note {
	var n Note
	n.add(Problem{Claim: name, Reason: reason, Message: message})
	return n
}

// Contract: STAT-4, STAT-5.
func TestReady(t *testing.T) {
	failed := problemNote("data", v1alpha1.ReasonCreateFailed, "exceeded quota")
	tests := map[string]struct {
		schedule    aSchedule
		known       situation
		want        metav1.ConditionStatus
		wantReason  string
		wantMessage string
	}{
		"scheduled": {
			every("6h"), known(2), metav1.ConditionTrue, v1alpha1.ReasonScheduled, "2 PersistentVolumeClaims",
		},
		"one": {
			every("6h"), known(1), metav1.ConditionTrue, v1alpha1.ReasonScheduled, "1 PersistentVolumeClaim",
		},
		"some are skipped": {
			every("6h"), known(3, skippedNote("b", "not Bound"), Note{}, skippedNote("a", "being deleted")),
			metav1.ConditionTrue, v1alpha1.ReasonScheduled, "3 PersistentVolumeClaims, 2 skipped; first a: being deleted",
		},
		"a problem that fails nobody": {
			every("6h"), known(1, problemNote("data", v1alpha1.ReasonSnapshotSlow, "slow")),
			metav1.ConditionTrue, v1alpha1.ReasonScheduled, "1 PersistentVolumeClaim",
		},
		"none match": {
			every("6h"), known(0), metav1.ConditionTrue, v1alpha1.ReasonNoMatchingClaims,
			"spec.selector matches no PersistentVolumeClaim of this namespace",
		},
		"suspended": {
			every("6h").suspended(), known(2), metav1.ConditionTrue, v1alpha1.ReasonSuspended,
			"spec.suspend is true: no snapshot is taken, retention goes on",
		},
		"suspended, and none match": {
			every("6h").suspended(), known(0), metav1.ConditionTrue, v1alpha1.ReasonSuspended,
			"spec.suspend is true: no snapshot is taken, retention goes on",
		},
		"failing": {
			every("6h"), known(3, problemNote("z", v1alpha1.ReasonSnapshotFailed, "m"), failed, Note{}),
			metav1.ConditionFalse, v1alpha1.ReasonSnapshotsFailing,
			"2 of 3 PersistentVolumeClaims failing; first data: CreateFailed: exceeded quota",
		},
		"failing while suspended": {
			every("6h").suspended(), known(1, failed), metav1.ConditionFalse, v1alpha1.ReasonSnapshotsFailing,
			"1 of 1 PersistentVolumeClaim failing; first data: CreateFailed: exceeded quota",
		},
		"invalid": {
			every("6h"), situation{Settled: true, Invalid: errors.New("spec.jitter: too long")},
			metav1.ConditionFalse, v1alpha1.ReasonInvalidSpec, "spec.jitter: too long",
		},
		"kind missing": {
			every("6h"), situation{Settled: true, Missing: []string{"VolumeSnapshot.v1.snapshot.storage.k8s.io"}},
			metav1.ConditionFalse, v1alpha1.ReasonSnapshotAPIMissing,
			"not installed in this cluster: VolumeSnapshot.v1.snapshot.storage.k8s.io",
		},
		"invalid, and kind missing": {
			every("6h"), situation{Settled: true, Missing: []string{"x"}, Invalid: errors.New("spec.jitter: too long")},
			metav1.ConditionFalse, v1alpha1.ReasonInvalidSpec, "spec.jitter: too long",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := tc.schedule.SnapshotSchedule
			setStatus(noon, s, tc.known)
			got := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReady)
			if got == nil || got.Status != tc.want || got.Reason != tc.wantReason || got.Message != tc.wantMessage {
				t.Fatalf("got  %+v\nwant %s %s %q", got, tc.want, tc.wantReason, tc.wantMessage)
			}
			if got.ObservedGeneration != 3 || s.Status.ObservedGeneration != 3 {
				t.Errorf("generation of the condition %d, of the status %d, want 3", got.ObservedGeneration, s.Status.ObservedGeneration)
			}
			if !got.LastTransitionTime.Time.Equal(noon) {
				t.Errorf("changed at %v, want noon", got.LastTransitionTime)
			}
			before := s.DeepCopy()
			setStatus(in(time.Hour), s, tc.known)
			if !statusEqual(before, s) {
				t.Errorf("an hour later, with nothing new, it is\n%+v, was\n%+v", s.Status, before.Status)
			}
		})
	}
}

func statusEqual(a, b *v1alpha1.SnapshotSchedule) bool {
	return mustJSON(a.Status) == mustJSON(b.Status)
}

// Contract: STAT-1.
func TestStatusFigures(t *testing.T) {
	s := every("6h").SnapshotSchedule
	setStatus(noon, s, known(2,
		Note{LastSnapshot: ago(time.Hour), NextSlot: in(time.Hour), RecoveryPoint: ago(day)},
		Note{LastSnapshot: ago(2 * time.Hour), NextSlot: in(2 * time.Hour), RecoveryPoint: ago(time.Hour).Add(time.Millisecond)},
	))
	const want = `{"observedGeneration":3,"inputs":{"persistentvolumeclaims":{"total":2}},` +
		`"outputs":{"volumesnapshots":{"total":6,"ready":4}},"detached":{"mapKeys":1,"volumesnapshots":2},` +
		`"lastSnapshotTime":"2026-06-15T11:00:00Z","nextSnapshotTime":"2026-06-15T13:00:00Z",` +
		`"oldestRecoveryPoint":"2026-06-14T12:00:00Z","conditions":[`
	if got := mustJSON(s.Status); !strings.HasPrefix(got, want) {
		t.Errorf("got  %s\nwant %s…", got, want)
	}
}

// Contract: STAT-2.
func TestNextSnapshotTimeIsAbsent(t *testing.T) {
	note := Note{NextSlot: in(time.Hour), LastSnapshot: ago(time.Hour)}
	for name, tc := range map[string]struct {
		schedule aSchedule
		known    situation
	}{
		"while suspended": {every("6h").suspended(), known(1, note)},
		"while invalid":   {every("6h"), situation{Invalid: errors.New("bad"), Note: note}},
		"while missing":   {every("6h"), situation{Missing: []string{"x"}, Note: note}},
		"without a PVC":   {every("6h"), known(0)},
	} {
		t.Run(name, func(t *testing.T) {
			s := tc.schedule.SnapshotSchedule
			old := metav1.NewTime(noon)
			s.Status.NextSnapshotTime = &old
			setStatus(noon, s, tc.known)
			if s.Status.NextSnapshotTime != nil {
				t.Errorf("it is %v", s.Status.NextSnapshotTime)
			}
		})
	}
}

// Contract: STAT-11.
func TestInvalidSpecLeavesTheFiguresAlone(t *testing.T) {
	s := every("6h").SnapshotSchedule
	setStatus(noon, s, known(2, Note{LastSnapshot: ago(time.Hour), RecoveryPoint: ago(day)}))
	before := s.DeepCopy()
	s.Generation = 4
	setStatus(in(time.Hour), s, situation{Settled: true, Invalid: errors.New("bad")})
	if s.Status.ObservedGeneration != 4 {
		t.Errorf("observedGeneration is %d, want 4", s.Status.ObservedGeneration)
	}
	if s.Status.Inputs != before.Status.Inputs || s.Status.Outputs != before.Status.Outputs ||
		s.Status.Detached != before.Status.Detached ||
		!s.Status.LastSnapshotTime.Equal(before.Status.LastSnapshotTime) ||
		!s.Status.OldestRecoveryPoint.Equal(before.Status.OldestRecoveryPoint) {
		t.Errorf("got %+v, had %+v", s.Status, before.Status)
	}
}

// Contract: STAT-9.
func TestObservedGenerationWaitsForEveryKey(t *testing.T) {
	s := every("6h").SnapshotSchedule
	s.Status.ObservedGeneration = 2
	half := known(2)
	half.Settled = false
	setStatus(noon, s, half)
	if s.Status.ObservedGeneration != 2 || s.Status.Conditions[0].ObservedGeneration != 2 {
		t.Errorf("status speaks of %d, its condition of %d, want 2", s.Status.ObservedGeneration, s.Status.Conditions[0].ObservedGeneration)
	}
	setStatus(noon, s, known(2))
	if s.Status.ObservedGeneration != 3 || s.Status.Conditions[0].ObservedGeneration != 3 {
		t.Errorf("status speaks of %d, its condition of %d, want 3", s.Status.ObservedGeneration, s.Status.Conditions[0].ObservedGeneration)
	}
}

func TestRetentionPaused(t *testing.T) {
	s := every("6h").SnapshotSchedule
	for _, tc := range []struct {
		note       Note
		want       metav1.ConditionStatus
		wantReason string
	}{
		{Note{}, metav1.ConditionFalse, v1alpha1.ReasonRetentionRunning},
		{Note{Paused: true}, metav1.ConditionTrue, v1alpha1.ReasonClockSkew},
		{Note{}, metav1.ConditionFalse, v1alpha1.ReasonRetentionRunning},
	} {
		setStatus(noon, s, known(1, tc.note))
		got := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionRetentionPaused)
		if got == nil || got.Status != tc.want || got.Reason != tc.wantReason || got.Message == "" {
			t.Errorf("got %+v, want %s %s", got, tc.want, tc.wantReason)
		}
	}
}

// Contract: STAT-7.
func TestProblemsKeepTheirSince(t *testing.T) {
	s := every("6h").SnapshotSchedule
	at := func(now time.Time, notes ...Note) []v1alpha1.Problem {
		setStatus(now, s, known(2, notes...))
		return s.Status.Problems
	}
	create := problemNote("data", v1alpha1.ReasonCreateFailed, "quota")
	if got := at(noon.Add(time.Millisecond), create); len(got) != 1 || !got[0].Since.Time.Equal(noon) ||
		got[0].PersistentVolumeClaim != "data" || got[0].Message != "quota" {
		t.Errorf("problems are %+v", got)
	}
	other := problemNote("data", v1alpha1.ReasonCreateFailed, "denied")
	if got := at(in(time.Hour), other); !got[0].Since.Time.Equal(noon) || got[0].Message != "denied" {
		t.Errorf("with another message, it is %+v", got)
	}
	failed := problemNote("data", v1alpha1.ReasonSnapshotFailed, "m")
	if got := at(in(time.Hour), create, failed); !got[0].Since.Time.Equal(noon) || !got[1].Since.Time.Equal(in(time.Hour)) {
		t.Errorf("with another reason beside it, they are %+v", got)
	}
	elsewhere := problemNote("logs", v1alpha1.ReasonCreateFailed, "quota")
	if got := at(in(2*time.Hour), create, elsewhere); !got[0].Since.Time.Equal(noon) || !got[1].Since.Time.Equal(in(2*time.Hour)) {
		t.Errorf("with another PVC's beside it, they are %+v", got)
	}
	if got := at(in(3 * time.Hour)); got != nil {
		t.Errorf("mended, they are %+v", got)
	}
	if got := at(in(4*time.Hour), create); !got[0].Since.Time.Equal(in(4 * time.Hour)) {
		t.Errorf("when it comes again, it is %+v", got)
	}
}

func TestProblemsAreTenAndACount(t *testing.T) {
	s := every("6h").SnapshotSchedule
	var notes []Note
	for name := range strings.SplitSeq("abcdefghijklmno", "") {
		notes = append(notes, problemNote(name, v1alpha1.ReasonSnapshotSlow, "slow"))
	}
	s.Annotations = map[string]string{v1alpha1.AnnotationRequestedAt: "tomorrow"}
	setStatus(noon, s, known(15, notes...))
	if len(s.Status.Problems) != 10 || s.Status.MoreProblems != 6 {
		t.Errorf("%d listed and %d more, want 10 and 6", len(s.Status.Problems), s.Status.MoreProblems)
	}
}

func TestScheduleProblemIsListed(t *testing.T) {
	s := every("6h").requested("tomorrow").SnapshotSchedule
	setStatus(noon, s, known(2))
	if len(s.Status.Problems) != 1 || s.Status.Problems[0].Reason != v1alpha1.ReasonInvalidRequestedAt ||
		s.Status.Problems[0].PersistentVolumeClaim != "" {
		t.Errorf("problems are %+v", s.Status.Problems)
	}
	if s.Status.Conditions[0].Status != metav1.ConditionTrue {
		t.Errorf("ready is %+v", s.Status.Conditions[0])
	}
}
