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
	"pgregory.net/rapid"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
	"mapcontroller.dev/snapshotschedule/internal/report"
)

// known returns a settled summary of so many PVCs, with three snapshots each, and
// one PVC that is detached.
func known(claims int, keys ...*keyStatus) mapcontroller.Summary {
	s := mapcontroller.Summary{Settled: true, Totals: map[string]int{
		claimsTotal: claims, snapshotsTotal: 3 * claims, snapshotsReady: 2 * claims, detachedKeys: 1, detachedSnapshots: 2,
	}}
	for _, k := range keys {
		s.Keys = append(s.Keys, k)
	}
	return s
}

// invalid and missing return summaries of PVCs that cannot be reconciled.
func invalid(why string) mapcontroller.Summary {
	return mapcontroller.Summary{
		Settled: true, Invalid: errors.New(why), Totals: map[string]int{snapshotsTotal: 6, snapshotsReady: 4},
	}
}

func missing(kinds ...string) mapcontroller.Summary {
	return mapcontroller.Summary{Missing: kinds}
}

// Contract: STAT-4, STAT-5.
func TestSetStatusReady(t *testing.T) {
	failed := withProblem("data", v1alpha1.ReasonCreateFailed, "exceeded quota")
	tests := map[string]struct {
		schedule    scheduleBuilder
		known       mapcontroller.Summary
		want        metav1.ConditionStatus
		wantReason  string
		wantMessage string
	}{
		"scheduled": {every("6h"), known(2), metav1.ConditionTrue, v1alpha1.ReasonScheduled, "2 PersistentVolumeClaims"},
		"one PVC":   {every("6h"), known(1), metav1.ConditionTrue, v1alpha1.ReasonScheduled, "1 PersistentVolumeClaim"},
		"some are skipped": {
			every("6h"), known(3, &keyStatus{Claim: "b", SkipReason: "not Bound"}, &keyStatus{}, &keyStatus{Claim: "a", SkipReason: "being deleted"}),
			metav1.ConditionTrue, v1alpha1.ReasonScheduled, "3 PersistentVolumeClaims, 2 skipped, for example a: being deleted",
		},
		"some retain, and one is skipped": {
			every("6h"), known(3, &keyStatus{Claim: "b", retained: true}, &keyStatus{Claim: "c", retained: true}, &keyStatus{Claim: "a", SkipReason: "being deleted"}),
			metav1.ConditionTrue, v1alpha1.ReasonScheduled,
			"3 PersistentVolumeClaims, 2 with a VolumeSnapshotClass that leaves the data of deleted snapshots in the storage, 1 skipped: a: being deleted",
		},
		"a problem that fails no PVC": {
			every("6h"), known(1, withProblem("data", v1alpha1.ReasonSnapshotSlow, "slow")),
			metav1.ConditionTrue, v1alpha1.ReasonScheduled, "1 PersistentVolumeClaim",
		},
		"refused deletes": {
			every("6h"), known(3, withProblem("b", v1alpha1.ReasonDeleteFailed, "m"), withProblem("a", v1alpha1.ReasonAdoptionRefused, "n"),
				withProblem("c", v1alpha1.ReasonSnapshotSlow, "slow")),
			metav1.ConditionFalse, v1alpha1.ReasonRetentionFailing,
			"changes to snapshots are refused or do not finish for 2 PersistentVolumeClaims, for example b: DeleteFailed: m",
		},
		"refused deletes while suspended": {
			every("6h").suspended(), known(1, withProblem("b", v1alpha1.ReasonReleaseFailed, "m")),
			metav1.ConditionFalse, v1alpha1.ReasonRetentionFailing,
			"changes to snapshots are refused or do not finish for 1 PersistentVolumeClaim: b: ReleaseFailed: m",
		},
		"refused deletes, and failing": {
			every("6h"), known(2, failed, withProblem("b", v1alpha1.ReasonDeleteFailed, "m")),
			metav1.ConditionFalse, v1alpha1.ReasonSnapshotsFailing,
			"1 of 2 PersistentVolumeClaims failing: data: CreateFailed: exceeded quota",
		},
		"none match": {
			every("6h"), known(0), metav1.ConditionTrue, v1alpha1.ReasonNoMatchingClaims,
			"the spec selects no PersistentVolumeClaim of this namespace",
		},
		"suspended": {
			every("6h").suspended(), known(2), metav1.ConditionTrue, v1alpha1.ReasonSuspended,
			"spec.suspend is true: no snapshots are taken; retention continues",
		},
		"suspended, and none match": {
			every("6h").suspended(), known(0), metav1.ConditionTrue, v1alpha1.ReasonSuspended,
			"spec.suspend is true: no snapshots are taken; retention continues",
		},
		"failing": {
			every("6h"), known(3, withProblem("z", v1alpha1.ReasonSnapshotFailed, "m"), failed, &keyStatus{}),
			metav1.ConditionFalse, v1alpha1.ReasonSnapshotsFailing,
			"2 of 3 PersistentVolumeClaims failing, for example data: CreateFailed: exceeded quota",
		},
		"failing while suspended": {
			every("6h").suspended(), known(1, failed), metav1.ConditionFalse, v1alpha1.ReasonSnapshotsFailing,
			"1 of 1 PersistentVolumeClaim failing: data: CreateFailed: exceeded quota",
		},
		"invalid": {
			every("6h"), invalid("spec.jitter: too long"),
			metav1.ConditionFalse, v1alpha1.ReasonInvalidSpec, "spec.jitter: too long",
		},
		"kind missing": {
			every("6h"), missing("VolumeSnapshot.v1.snapshot.storage.k8s.io"),
			metav1.ConditionFalse, v1alpha1.ReasonSnapshotAPIMissing,
			"not installed in this cluster: VolumeSnapshot.v1.snapshot.storage.k8s.io",
		},
		"not reconciled": {every("6h"), mapcontroller.Summary{}, metav1.ConditionUnknown, v1alpha1.ReasonReconciling, reconcilingMessage},
		"invalid, and kind missing": {
			every("6h"), mapcontroller.Summary{Settled: true, Missing: []string{"x"}, Invalid: errors.New("spec.jitter: too long")},
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
			wantObserved := int64(3)
			if !tc.known.Settled {
				wantObserved = 0
			}
			if got.ObservedGeneration != 3 || s.Status.ObservedGeneration != wantObserved {
				t.Errorf("generation of the condition %d, of the status %d, want 3 and %d", got.ObservedGeneration, s.Status.ObservedGeneration, wantObserved)
			}
			if !got.LastTransitionTime.Time.Equal(noon) {
				t.Errorf("changed at %v, want noon", got.LastTransitionTime)
			}
			before := s.DeepCopy()
			setStatus(in(time.Hour), s, tc.known)
			if toJSON(before.Status) != toJSON(s.Status) {
				t.Errorf("an hour later, with nothing new, it is\n%+v, was\n%+v", s.Status, before.Status)
			}
		})
	}
}

// Contract: STAT-1.
func TestSetStatusCountsAndTimes(t *testing.T) {
	s := every("6h").SnapshotSchedule
	setStatus(noon, s, known(2,
		&keyStatus{LastSnapshot: ago(time.Hour), NextSlot: in(time.Hour), RecoveryPoint: ago(day), verified: new(ago(day))},
		&keyStatus{LastSnapshot: ago(2 * time.Hour), NextSlot: in(2 * time.Hour), RecoveryPoint: ago(time.Hour).Add(time.Millisecond), verified: new(ago(2 * day))},
	))
	const want = `{"observedGeneration":3,"inputs":{"persistentvolumeclaims":{"total":2,"skipped":0}},` +
		`"outputs":{"volumesnapshots":{"total":6,"ready":4}},"detached":{"mapKeys":1,"volumesnapshots":2},` +
		`"lastSnapshotTime":"2026-06-15T11:00:00Z","nextSnapshotTime":"2026-06-15T13:00:00Z",` +
		`"nextSnapshot":"2026-06-15T13:00:00Z","recoveryPointTime":"2026-06-14T12:00:00Z",` +
		`"oldestRecoveryPointTime":"2026-06-14T12:00:00Z","oldestVerifiedTime":"2026-06-13T12:00:00Z","conditions":[`
	if got := toJSON(s.Status); !strings.HasPrefix(got, want) {
		t.Errorf("got  %s\nwant %s…", got, want)
	}
}

// Contract: STAT-16.
func TestStatusSaysNowWhileASlotIsDueAndHasARecoveryPointOnlyIfAllDo(t *testing.T) {
	good := &keyStatus{Claim: "a", NextSlot: in(time.Hour), RecoveryPoint: ago(time.Hour)}
	due := &keyStatus{Claim: "b", NextSlot: in(2 * time.Hour), RecoveryPoint: ago(day), due: true, noneReady: true}
	for name, tc := range map[string]struct {
		schedule  scheduleBuilder
		keys      []*keyStatus
		wantNext  string
		wantPoint bool
	}{
		"nothing is due":                  {every("6h"), []*keyStatus{good}, "2026-06-15T13:00:00Z", true},
		"a slot is due, and has no place": {every("6h"), []*keyStatus{good, due}, nextNow, false},
		"a request, while suspended":      {every("6h").suspended(), []*keyStatus{due}, nextNow, false},
		"suspended":                       {every("6h").suspended(), []*keyStatus{good}, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			s := tc.schedule.SnapshotSchedule
			setStatus(noon, s, known(len(tc.keys), tc.keys...))
			if s.Status.NextSnapshot != tc.wantNext || (s.Status.RecoveryPointTime != nil) != tc.wantPoint || s.Status.OldestRecoveryPointTime == nil {
				t.Errorf("nextSnapshot is %q, recoveryPointTime %v, oldestRecoveryPointTime %v",
					s.Status.NextSnapshot, s.Status.RecoveryPointTime, s.Status.OldestRecoveryPointTime)
			}
		})
	}
}

// Contract: STAT-2.
func TestSetStatusWithoutNextSnapshotTime(t *testing.T) {
	key := &keyStatus{NextSlot: in(time.Hour), LastSnapshot: ago(time.Hour)}
	for name, tc := range map[string]struct {
		schedule scheduleBuilder
		known    mapcontroller.Summary
	}{
		"while suspended": {every("6h").suspended(), known(1, key)},
		"while invalid":   {every("6h"), invalid("bad")},
		"without a PVC":   {every("6h"), known(0)},
	} {
		t.Run(name, func(t *testing.T) {
			s := tc.schedule.SnapshotSchedule
			old := metav1.NewTime(noon)
			s.Status.NextSnapshotTime, s.Status.NextSnapshot, s.Status.RecoveryPointTime = &old, nextNow, &old
			setStatus(noon, s, tc.known)
			if s.Status.NextSnapshotTime != nil || s.Status.NextSnapshot != "" || s.Status.RecoveryPointTime != nil {
				t.Errorf("it is %v, %q, %v", s.Status.NextSnapshotTime, s.Status.NextSnapshot, s.Status.RecoveryPointTime)
			}
		})
	}
}

// condition returns a condition as "status reason".
func condition(s *v1alpha1.SnapshotSchedule, kind string) string {
	c := meta.FindStatusCondition(s.Status.Conditions, kind)
	if c == nil {
		return "absent"
	}
	return string(c.Status) + " " + c.Reason
}

// What an invalid spec leaves unknown is absent: it was computed under another generation.
//
// Contract: STAT-11.
func TestSetStatusShowsNothingOld(t *testing.T) {
	six := v1alpha1.OutputCount{Total: 6, Ready: 4}
	for name, known := range map[string]mapcontroller.Summary{
		"the keys are reconciled": invalid("bad"), "they are not": {Settled: true, Invalid: errors.New("bad")},
	} {
		t.Run(name, func(t *testing.T) {
			s := counted()
			s.Generation = 4
			setStatus(in(time.Hour), s, known)
			if got := condition(s, v1alpha1.ConditionStalled); got != "True InvalidSpec" {
				t.Errorf("Stalled is %s", got)
			}
			if got := condition(s, v1alpha1.ConditionRetentionPaused); got != "True InvalidSpec" {
				t.Errorf("RetentionPaused is %s", got)
			}
			for _, c := range s.Status.Conditions {
				if c.ObservedGeneration != 4 || c.Message == "" {
					t.Errorf("condition %+v is of another generation, or says nothing", c)
				}
			}
			rest := s.Status
			rest.Conditions = nil
			if want := (v1alpha1.SnapshotScheduleStatus{ObservedGeneration: 4, Outputs: v1alpha1.Outputs{VolumeSnapshots: six}}); toJSON(rest) != toJSON(want) {
				t.Errorf("the rest is %s, want %s", toJSON(rest), toJSON(want))
			}
			isFixed(t, s)
		})
	}
}

// counted returns a schedule of two PVCs with six snapshots, and all that status shows.
func counted() *v1alpha1.SnapshotSchedule {
	s := every("6h").SnapshotSchedule
	key := withProblem("data", v1alpha1.ReasonSnapshotFailed, "m")
	key.LastSnapshot, key.RecoveryPoint, key.NextSlot, key.Paused = ago(time.Hour), ago(day), in(time.Hour), true
	key.verified = new(ago(day))
	setStatus(noon, s, known(2, key))
	s.Status.MoreProblems = 3
	return s
}

func isFixed(t *testing.T, s *v1alpha1.SnapshotSchedule) {
	t.Helper()
	setStatus(in(2*time.Hour), s, known(2))
	if condition(s, v1alpha1.ConditionStalled) != "False ValidSpec" || s.Status.Inputs == nil || s.Status.Detached == nil ||
		condition(s, v1alpha1.ConditionRetentionPaused) != "False RetentionRunning" || s.Status.ObservedGeneration != s.Generation {
		t.Errorf("when it is fixed, it is %+v", s.Status)
	}
}

// What is not known stays as the API server has it: while a kind is missing, and until
// every key is reconciled. Nothing else may say that there are fewer snapshots than there
// are.
//
// Contract: STAT-6, STAT-12.
func TestSetStatusKeepsWhatIsNotKnown(t *testing.T) {
	for name, test := range map[string]struct {
		known     mapcontroller.Summary
		wantReady string
	}{
		"a kind is missing": {missing("x"), "False SnapshotAPIMissing"},
		"not reconciled":    {mapcontroller.Summary{}, "False SnapshotsFailing"},
	} {
		t.Run(name, func(t *testing.T) {
			s := counted()
			before := s.DeepCopy()
			s.Generation = 4
			setStatus(in(time.Hour), s, test.known)
			if got := condition(s, v1alpha1.ConditionReady); got != test.wantReady {
				t.Errorf("Ready is %s, want %s", got, test.wantReady)
			}
			for _, kind := range []string{v1alpha1.ConditionStalled, v1alpha1.ConditionRetentionPaused} {
				if got, want := condition(s, kind), condition(before, kind); got != want {
					t.Errorf("%s is %s, was %s", kind, got, want)
				}
			}
			after := s.DeepCopy()
			after.Generation, after.Status.Conditions, before.Status.Conditions = before.Generation, nil, nil
			if toJSON(after.Status) != toJSON(before.Status) {
				t.Errorf("it is %s, was %s", toJSON(after.Status), toJSON(before.Status))
			}
			isFixed(t, s)
		})
	}
	t.Run("a kind is missing when the spec is fixed", func(t *testing.T) {
		s := counted()
		setStatus(noon, s, invalid("bad"))
		setStatus(noon, s, missing("x"))
		if got := condition(s, v1alpha1.ConditionStalled); got != "False ValidSpec" {
			t.Errorf("Stalled is %s", got)
		}
	})
}

// While the writes of the first pass after a start hang, the problems of earlier ones are
// not over.
//
// Contract: STAT-7, STAT-12.
func TestSetStatusKeepsProblemsOfWritesThatAreUnderWay(t *testing.T) {
	s := every("6h").SnapshotSchedule
	create := withProblem("data", v1alpha1.ReasonCreateFailed, "quota")
	create.add(Problem{Reason: v1alpha1.ReasonSnapshotFailed, Message: "m"})
	setStatus(noon, s, known(1, create))
	setStatus(in(time.Hour), s, known(1, &keyStatus{Claim: "data"}))
	if p := s.Status.Problems; len(p) != 1 || p[0].Reason != v1alpha1.ReasonCreateFailed || !p[0].SinceTime.Time.Equal(noon) {
		t.Errorf("after a restart, problems are %+v", p)
	}
	if got := condition(s, v1alpha1.ConditionReady); got != "False SnapshotsFailing" {
		t.Errorf("after a restart, Ready is %s", got)
	}
	again := s.DeepCopy()
	setStatus(in(time.Hour), again, known(1, &keyStatus{Claim: "data", reported: true}))
	if len(again.Status.Problems) > 0 {
		t.Errorf("when the pass has ended, problems are %+v", again.Status.Problems)
	}
	s.Generation++
	setStatus(in(time.Hour), s, known(1, &keyStatus{Claim: "data"}))
	s.Status.ObservedGeneration--
	setStatus(in(time.Hour), s, known(1, &keyStatus{Claim: "other"}))
	if len(s.Status.Problems) > 0 {
		t.Errorf("of another PVC, problems are %+v", s.Status.Problems)
	}
}

// Whatever users write into names and annotations, a message has at most 1,024 bytes.
//
// Contract: STAT-13.
func TestMessagesAreBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.Custom(func(t *rapid.T) string {
			return strings.Repeat(rapid.StringN(1, 8, 32).Draw(t, "part"), rapid.IntRange(0, 300).Draw(t, "times"))
		})
		s := every("6h").requested(text.Draw(t, "request")).SnapshotSchedule
		var keys []*keyStatus
		for range rapid.IntRange(0, 4).Draw(t, "keys") {
			k := &keyStatus{Claim: text.Draw(t, "claim"), SkipReason: SkipReason(text.Draw(t, "skip")), pending: &pendingSlot{driver: driver(text.Draw(t, "driver"))}, reported: true}
			if rapid.Bool().Draw(t, "fails") {
				k.add(Problem{Reason: rapid.SampledFrom(reasons).Draw(t, "reason").name, Message: text.Draw(t, "message")})
			}
			keys = append(keys, k)
		}
		summary := known(len(keys), keys...)
		switch rapid.IntRange(0, 4).Draw(t, "state") {
		case 0:
			summary = invalid(text.Draw(t, "error"))
		case 1:
			summary = missing(text.Draw(t, "kind"))
		case 2:
			summary.Refused = true
		}
		setStatus(noon, s, summary)
		for _, c := range s.Status.Conditions {
			if len(c.Message) > 1024 || summary.Refused && c.Message != report.RefusedMessage {
				t.Fatalf("%s has a message of %d bytes: %s", c.Type, len(c.Message), c.Message)
			}
		}
		for _, p := range s.Status.Problems {
			if len(p.Message) > 1024 {
				t.Fatalf("a problem has a message of %d bytes", len(p.Message))
			}
		}
	})
}

// It does not depend on the spec.
//
// Contract: API-7, STAT-11.
func TestSetStatusListsTheProblemOfAnInvalidSchedule(t *testing.T) {
	s := every("6h").requested("tomorrow").SnapshotSchedule
	setStatus(noon, s, invalid("bad"))
	if len(s.Status.Problems) != 1 || s.Status.Problems[0].Reason != v1alpha1.ReasonInvalidRequestedAt {
		t.Errorf("problems are %+v", s.Status.Problems)
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
		t.Errorf("observedGeneration is %d, of the condition %d, want 2", s.Status.ObservedGeneration, s.Status.Conditions[0].ObservedGeneration)
	}
	setStatus(noon, s, known(2))
	if s.Status.ObservedGeneration != 3 || s.Status.Conditions[0].ObservedGeneration != 3 {
		t.Errorf("observedGeneration is %d, of the condition %d, want 3", s.Status.ObservedGeneration, s.Status.Conditions[0].ObservedGeneration)
	}
}

func TestSetStatusRetentionPaused(t *testing.T) {
	s := every("6h").SnapshotSchedule
	for _, tc := range []struct {
		paused     bool
		want       metav1.ConditionStatus
		wantReason string
	}{
		{false, metav1.ConditionFalse, v1alpha1.ReasonRetentionRunning},
		{true, metav1.ConditionTrue, v1alpha1.ReasonClockSkew},
		{false, metav1.ConditionFalse, v1alpha1.ReasonRetentionRunning},
	} {
		setStatus(noon, s, known(1, &keyStatus{Paused: tc.paused}, &keyStatus{}))
		got := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionRetentionPaused)
		if got == nil || got.Status != tc.want || got.Reason != tc.wantReason || got.Message == "" {
			t.Errorf("got %+v, want %s %s", got, tc.want, tc.wantReason)
		}
	}
}

// Contract: STAT-7.
func TestSetStatusKeepsSinceOfProblems(t *testing.T) {
	s := every("6h").SnapshotSchedule
	at := func(now time.Time, keys ...*keyStatus) []v1alpha1.Problem {
		setStatus(now, s, known(2, keys...))
		return s.Status.Problems
	}
	create := withProblem("data", v1alpha1.ReasonCreateFailed, "quota")
	if got := at(noon.Add(time.Millisecond), create); len(got) != 1 || !got[0].SinceTime.Time.Equal(noon) ||
		got[0].PersistentVolumeClaim != "data" || got[0].Message != "quota" {
		t.Errorf("problems are %+v", got)
	}
	other := withProblem("data", v1alpha1.ReasonCreateFailed, "denied")
	if got := at(in(time.Hour), other); !got[0].SinceTime.Time.Equal(noon) || got[0].Message != "denied" {
		t.Errorf("with another message, it is %+v", got)
	}
	failed := withProblem("data", v1alpha1.ReasonSnapshotFailed, "m")
	failed.reported = true
	if got := at(in(time.Hour), create, failed); !got[0].SinceTime.Time.Equal(noon) || !got[1].SinceTime.Time.Equal(in(time.Hour)) {
		t.Errorf("with another reason beside it, they are %+v", got)
	}
	elsewhere := withProblem("logs", v1alpha1.ReasonCreateFailed, "quota")
	if got := at(in(2*time.Hour), create, elsewhere); !got[0].SinceTime.Time.Equal(noon) || !got[1].SinceTime.Time.Equal(in(2*time.Hour)) {
		t.Errorf("with another PVC's beside it, they are %+v", got)
	}
	if got := at(in(3 * time.Hour)); got != nil {
		t.Errorf("when they are fixed, they are %+v", got)
	}
	if got := at(in(4*time.Hour), create); !got[0].SinceTime.Time.Equal(in(4 * time.Hour)) {
		t.Errorf("when it comes again, it is %+v", got)
	}
}

func TestSetStatusListsTenProblemsAndCountsTheOthers(t *testing.T) {
	s := every("6h").requested("tomorrow").SnapshotSchedule
	var keys []*keyStatus
	for name := range strings.SplitSeq("abcdefghijklmno", "") {
		keys = append(keys, withProblem(name, v1alpha1.ReasonSnapshotSlow, "slow"))
	}
	setStatus(noon, s, known(15, keys...))
	if len(s.Status.Problems) != 10 || s.Status.MoreProblems != 6 {
		t.Errorf("%d listed and %d more, want 10 and 6", len(s.Status.Problems), s.Status.MoreProblems)
	}
}

// A problem that is refused may be none of the ten worst.
func TestSetStatusNamesARefusedWriteThatIsNotListed(t *testing.T) {
	s := every("6h").SnapshotSchedule
	keys := []*keyStatus{withProblem("z", v1alpha1.ReasonDeleteFailed, "later"), withProblem("y", v1alpha1.ReasonDeleteFailed, "denied")}
	for name := range strings.SplitSeq("abcdefghij", "") {
		keys = append(keys, withProblem(name, v1alpha1.ReasonSnapshotSlow, "slow"))
	}
	setStatus(noon, s, known(12, keys...))
	ready := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReady)
	if want := "changes to snapshots are refused or do not finish for 2 PersistentVolumeClaims, for example y: DeleteFailed: denied"; ready.Message != want {
		t.Errorf("Ready is %s: %s, want %s", ready.Reason, ready.Message, want)
	}
}

func TestSetStatusListsTheProblemOfTheSchedule(t *testing.T) {
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

// Guardrails go by the counts, and users by the rest.
//
// Contract: STAT-12, GRP-12.
func TestWhatCannotBeListedIsNotSaidToBeGone(t *testing.T) {
	for name, tc := range map[string]struct {
		schedule scheduleBuilder
		settles  bool
	}{
		"with groups":                     {every("6h").grouped(), false},
		"that had groups, and needs none": {every("6h"), true},
	} {
		t.Run(name, func(t *testing.T) {
			s, before := tc.schedule.SnapshotSchedule, &v1alpha1.OutputCount{Total: 3, Ready: 2}
			s.Generation, s.Status.Outputs.VolumeGroupSnapshots = 2, before
			s.Status.Detached = &v1alpha1.Detached{VolumeGroupSnapshots: 1}
			set(noon, s, v1alpha1.ConditionProtected, metav1.ConditionTrue, v1alpha1.ReasonRecoveryPointsCurrent, "")
			unseen := known(1, &keyStatus{Claim: "a", protection: protectionOld})
			unseen.Unseen = true
			setStatusOf(noon, s, origin{}, unseen)
			if got := s.Status.Outputs.VolumeGroupSnapshots; got == nil || *got != *before || s.Status.Detached.VolumeGroupSnapshots != 1 {
				t.Errorf("counts %+v, and detached %+v", got, s.Status.Detached)
			}
			if observed := s.Status.ObservedGeneration == 2; observed != tc.settles {
				t.Errorf("observed: %t", observed)
			}
			if is := meta.IsStatusConditionTrue(s.Status.Conditions, v1alpha1.ConditionProtected); is == tc.settles {
				t.Errorf("protected: %t", is)
			}
		})
	}
}
