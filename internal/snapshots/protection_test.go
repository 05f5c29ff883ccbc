// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
	"mapcontroller.dev/snapshotschedule/internal/retention"
	"mapcontroller.dev/snapshotschedule/internal/schedule"
)

// With the PVC of claim, the slots of every("6h") are 1h, 7h and 13h ago.
//
// Contract: PROT-1, PROT-2.
func TestProtectionOfAClaim(t *testing.T) {
	sixHourly := func() scheduleBuilder { return every("6h") }
	tests := map[string]struct {
		schedule  scheduleBuilder
		claim     claimBuilder
		snapshots series
		want      protection
		wantUntil time.Time // zero: for ever
	}{
		"the newest slot is covered":                 {sixHourly(), claim("data"), series{ready(time.Hour)}, protectionCurrent, in(11 * time.Hour)},
		"the slot before it is covered":              {sixHourly(), claim("data"), series{ready(7 * time.Hour)}, protectionCurrent, in(5 * time.Hour)},
		"an older slot is covered":                   {sixHourly(), claim("data"), series{ready(13 * time.Hour)}, protectionOld, time.Time{}},
		"a request between two slots":                {sixHourly(), claim("data"), series{ready(8 * time.Hour)}, protectionOld, time.Time{}},
		"a request after the slot before":            {sixHourly(), claim("data"), series{ready(6 * time.Hour)}, protectionCurrent, in(5 * time.Hour)},
		"one that is not ready":                      {sixHourly(), claim("data"), series{uploading(time.Hour), uncut(7 * time.Hour)}, protectionOld, time.Time{}},
		"one that is being deleted":                  {sixHourly(), claim("data"), series{ready(time.Hour).deleting()}, protectionOld, time.Time{}},
		"an upload after a ready one flips nothing":  {sixHourly(), claim("data"), series{uploading(time.Hour), ready(7 * time.Hour)}, protectionCurrent, in(5 * time.Hour)},
		"suspended: the slots that it would have":    {sixHourly().suspended(), claim("data"), series{ready(7 * time.Hour)}, protectionCurrent, in(5 * time.Hour)},
		"suspended and forgotten":                    {sixHourly().suspended(), claim("data"), series{ready(13 * time.Hour)}, protectionOld, time.Time{}},
		"imported, without a slot":                   {sixHourly(), claim("data"), series{readyImport(time.Hour)}, protectionOld, time.Time{}},
		"imported, of the slot that it names":        {sixHourly(), claim("data"), series{readyImport(time.Hour).scheduledAt(rfc3339(ago(7 * time.Hour)))}, protectionCurrent, in(5 * time.Hour)},
		"new: its first slot has readyDeadline time": {sixHourly(), claim("data").created(ago(59 * time.Minute)), nil, protectionPending, in(time.Minute)},
		"new, and its first slot has had it":         {sixHourly(), claim("data").created(ago(time.Hour)), nil, protectionOld, time.Time{}},
		"new, and its first snapshots are old already": {
			every("10m"), claim("data").created(ago(50 * time.Minute)), series{ready(30 * time.Minute)}, protectionOld, time.Time{},
		},
		"new, before its first slot":                       {cron("0 13 * * *", ""), claim("data").created(ago(time.Hour)), nil, protectionPending, in(2 * time.Hour)},
		"new, a request before its first slot":             {cron("0 13 * * *", ""), claim("data").created(ago(time.Hour)), series{ready(time.Minute)}, protectionCurrent, in(25 * time.Hour)},
		"new, with a snapshot of an earlier schedule":      {sixHourly().created(ago(time.Minute)), claim("data"), series{ready(time.Hour)}, protectionCurrent, in(6*time.Hour - time.Minute)},
		"new, with an old snapshot of an earlier schedule": {sixHourly().created(ago(time.Minute)), claim("data"), series{ready(7 * time.Hour)}, protectionPending, in(59 * time.Minute)},
		"created again, with a cron line":                  {cron("30 2 * * *", "").created(ago(time.Minute)), claim("data"), series{ready(9 * time.Hour)}, protectionCurrent, in(38*time.Hour + 30*time.Minute)},
		"created again, suspended":                         {sixHourly().suspended().created(ago(time.Minute)), claim("data"), series{ready(time.Hour)}, protectionCurrent, in(6*time.Hour - time.Minute)},
		"created again, suspended and forgotten":           {sixHourly().suspended().created(ago(2 * time.Hour)), claim("data"), series{ready(13 * time.Hour)}, protectionOld, time.Time{}},
		"after a rollback, by the snapshots that it carried over": {
			sixHourly(), claim("data").created(ago(time.Minute)), series{ready(7 * time.Hour), ready(time.Hour)}, protectionCurrent, in(11 * time.Hour),
		},
		"after a rollback, by snapshots that were old before it": {
			sixHourly(), claim("data").created(ago(time.Minute)), series{ready(13 * time.Hour)}, protectionOld, time.Time{},
		},
		"the first slot was missed, and a request is ready": {
			cron("0 11 * * *", ""), claim("data").created(ago(3 * time.Hour)), series{ready(2 * time.Hour)}, protectionCurrent, in(23 * time.Hour),
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			c := mapCase{schedule: tc.schedule, claim: tc.claim, snapshots: tc.snapshots}
			got := statusOf(c.decider(t)(c.observe()))
			if got.protection != tc.want {
				t.Errorf("protection is %d, want %d", got.protection, tc.want)
			}
			spec, err := compile(&tc.schedule.Spec)
			must(t, err)
			of := claimsOf(tc.schedule.SnapshotSchedule, []*corev1.PersistentVolumeClaim{tc.claim.PersistentVolumeClaim}, snapshotsOf(tc.snapshots.objects(), nil), noon)
			covered := retention.LastReadySlot(snapshotsOf(tc.snapshots.objects(), nil), noon)
			if _, until := protectionOf(spec.timeline(&of), of.since(), covered, time.Hour, noon); !until.Equal(tc.wantUntil) {
				t.Errorf("until %v, want %v", until, tc.wantUntil)
			}
		})
	}
	skipped := mapCase{schedule: every("6h"), claim: claim("data").deleting()}
	if got := statusOf(skipped.decider(t)(skipped.observe())); got.protection != protectionNone {
		t.Errorf("of a PVC that is skipped, protection is %d", got.protection)
	}
}

func readyImport(age time.Duration) snapshotBuilder {
	s := imported(age).cut(ago(age))
	s.Status.ReadyToUse = new(true)
	return s
}

// Protection is what the contract says about the newest slot but one, at every time, and
// changes at no other time than the one that was announced.
//
// Contract: PROT-1.
func TestProtectionIsByTheNewestSlotButOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.SampledFrom([]scheduleBuilder{every("6h"), every("7m").jitter("3m"), cron("30 2 * * 1-5", "Europe/Oslo"), cron("*/20 3 * * *", "")}).Draw(t, "schedule")
		spec, err := compile(&s.Spec)
		if err != nil {
			t.Fatal(err)
		}
		minutes := func(name string, most int) time.Duration {
			return time.Duration(rapid.IntRange(0, most).Draw(t, name)) * time.Minute
		}
		c, deadline := claim("data").created(ago(minutes("created", 5000))), minutes("deadline", 600)+time.Second
		of := claimsOf(s.SnapshotSchedule, []*corev1.PersistentVolumeClaim{c.PersistentVolumeClaim}, nil, noon)
		anchor, line := of.anchor, spec.timeline(&of)
		var covered time.Time
		if rapid.Bool().Draw(t, "any ready") {
			covered = ago(minutes("covered", 6000))
		}
		reference := func(now time.Time) protection {
			first, hasSlot := line.Next(time.Time{})
			since := 0 // slots after what is covered, also before the anchor
			earlier := spec.rule.Timeline(anchor.Add(-1000*6*time.Hour), schedule.Jitter(of.key, spec.jitter))
			if spec.rule.Interval() > 0 {
				earlier = spec.rule.Timeline(anchor.Add(-1000*spec.rule.Interval()), schedule.Jitter(of.key, spec.jitter))
			}
			for at, ok := earlier.Next(covered); ok && !covered.IsZero() && since < 2 && !at.After(now); at, ok = earlier.Next(at) {
				since++
			}
			switch {
			case !covered.IsZero() && since < 2:
				return protectionCurrent
			case hasSlot && now.Before(first.Add(deadline)) && covered.Before(anchor):
				return protectionPending
			}
			return protectionOld
		}
		got, until := protectionOf(line, anchor, covered, deadline, noon)
		if want := reference(noon); got != want {
			t.Fatalf("protection is %d, want %d", got, want)
		}
		later := in(minutes("later", 5000))
		if changed := reference(later) != got; changed != (!until.IsZero() && !later.Before(until)) {
			t.Fatalf("at %v it has changed: %t, but it was to change at %v", later, changed, until)
		}
	})
}

// Contract: PROT-1, PROT-2, PROT-3.
func TestSetStatusProtected(t *testing.T) {
	key := func(claim string, p protection, recovery time.Duration) *keyStatus {
		return &keyStatus{Claim: claim, protection: p, RecoveryPoint: ago(recovery)}
	}
	notDue := func(at time.Time) *keyStatus {
		return &keyStatus{Claim: "n", protection: protectionPending, NextSlot: at}
	}
	current, pending := key("a", protectionCurrent, time.Hour), key("b", protectionPending, time.Hour)
	pending.Pending = 1
	tests := map[string]struct {
		known       []*keyStatus
		want        metav1.ConditionStatus
		wantReason  string
		wantMessage string
	}{
		"none": {nil, metav1.ConditionUnknown, v1alpha1.ReasonNoMatchingClaims, "no selected PersistentVolumeClaim can be snapshotted now"},
		"all": {[]*keyStatus{current, {Claim: "s", SkipReason: "not Bound"}}, metav1.ConditionTrue, v1alpha1.ReasonRecoveryPointsCurrent,
			"1 PersistentVolumeClaim with a ready snapshot of a recent slot"},
		"some are pending": {[]*keyStatus{current, pending}, metav1.ConditionTrue, v1alpha1.ReasonRecoveryPointsCurrent,
			"1 PersistentVolumeClaim with a ready snapshot of a recent slot; the first snapshots of 1 more are pending"},
		"all are pending": {[]*keyStatus{pending, pending}, metav1.ConditionUnknown, v1alpha1.ReasonFirstSnapshotsPending,
			"2 PersistentVolumeClaims have no ready snapshot of this schedule yet; the first are due"},
		"all are pending, and the first is not due": {[]*keyStatus{notDue(in(2 * time.Hour)), notDue(in(time.Hour))}, metav1.ConditionUnknown, v1alpha1.ReasonFirstSnapshotsPending,
			"2 PersistentVolumeClaims have no ready snapshot of this schedule yet; the first is due at 2026-06-15T13:00:00Z"},
		"all are pending, and suspended": {[]*keyStatus{notDue(time.Time{})}, metav1.ConditionUnknown, v1alpha1.ReasonFirstSnapshotsPending,
			"1 PersistentVolumeClaim has no ready snapshot of this schedule yet; none is due"},
		"none can be snapshotted": {[]*keyStatus{{Claim: "a", SkipReason: "NotSnapshottable: why"}, {Claim: "s", SkipReason: "not Bound"}},
			metav1.ConditionFalse, v1alpha1.ReasonNotSnapshottable,
			"no selected PersistentVolumeClaim can be snapshotted; for example a: NotSnapshottable: why; create a VolumeSnapshotClass, " +
				"or exclude them with storageClassNames, the selector or annotation snapshots.mapcontroller.dev/exclude"},
		"one cannot be snapshotted": {[]*keyStatus{{Claim: "a", SkipReason: "NotSnapshottable: why"}, current},
			metav1.ConditionTrue, v1alpha1.ReasonRecoveryPointsCurrent, "1 PersistentVolumeClaim with a ready snapshot of a recent slot"},
		"one cannot be snapshotted, one is pending": {[]*keyStatus{{Claim: "a", SkipReason: "NotSnapshottable: why"}, pending},
			metav1.ConditionUnknown, v1alpha1.ReasonFirstSnapshotsPending,
			"1 PersistentVolumeClaim has no ready snapshot of this schedule yet; the first are due"},
		"some are old": {
			[]*keyStatus{current, pending, key("c", protectionOld, 2*day), key("e", protectionOld, 3*day), key("d", protectionOld, 3*day)},
			metav1.ConditionFalse, v1alpha1.ReasonRecoveryPointsOld, "3 PersistentVolumeClaims without a ready snapshot of a recent slot; " +
				"the oldest recovery point is that of d, 2026-06-12T12:00:00Z; the first snapshots of 1 more are pending",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := every("6h").SnapshotSchedule
			setStatus(noon, s, known(len(tc.known), tc.known...))
			got := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionProtected)
			if got == nil || got.Status != tc.want || got.Reason != tc.wantReason || got.Message != tc.wantMessage {
				t.Errorf("got  %+v\nwant %s %s %q", got, tc.want, tc.wantReason, tc.wantMessage)
			}
		})
	}
	s := every("6h").SnapshotSchedule
	setStatus(noon, s, known(1, current))
	for _, step := range []struct {
		want    string
		summary mapcontroller.Summary
	}{
		{"Unknown SnapshotAPIMissing", missing("VolumeSnapshot")}, {"Unknown InvalidSpec", invalid("spec.jitter: too long")},
	} {
		setStatus(noon, s, step.summary)
		if got := condition(s, v1alpha1.ConditionProtected); got != step.want {
			t.Errorf("Protected is %s, want %s", got, step.want)
		}
	}
}
