// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
)

// Contract: STAT-18.
func TestAConditionThatTurnsFalseIsOneEvent(t *testing.T) {
	condition := func(status metav1.ConditionStatus, reason string) metav1.Condition {
		return metav1.Condition{Type: "Ready", Status: status, Reason: reason, Message: "why"}
	}
	isTrue, failing, invalid := condition("True", "Scheduled"), condition("False", "SnapshotsFailing"), condition("False", "InvalidSpec")
	protected := metav1.Condition{Type: "Protected", Status: "False", Reason: "RecoveryPointsOld", Message: "old"}
	object := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "nightly"}}
	for name, tc := range map[string]struct {
		before, after []metav1.Condition
		want          string
		second        string // of the other condition; empty: none
	}{
		"turns False":             {[]metav1.Condition{isTrue}, []metav1.Condition{failing}, "Warning SnapshotsFailing Ready is False: why; data: CreateFailed: no", ""},
		"is False from the start": {nil, []metav1.Condition{invalid}, "Warning InvalidSpec Ready is False: why; data: CreateFailed: no", ""},
		"has another reason":      {[]metav1.Condition{failing}, []metav1.Condition{invalid}, "Warning InvalidSpec Ready is False: why; data: CreateFailed: no", ""},
		"is False as before":      {[]metav1.Condition{failing}, []metav1.Condition{failing}, "", ""},
		"turns True":              {[]metav1.Condition{failing}, []metav1.Condition{isTrue}, "", ""},
		"the second one turns":    {[]metav1.Condition{failing}, []metav1.Condition{failing, protected}, "Warning RecoveryPointsOld Protected is False: old; data: CreateFailed: no", ""},
		"both turn: one of each":  {nil, []metav1.Condition{failing, protected}, "Warning SnapshotsFailing Ready is False: why; data: CreateFailed: no", "Warning RecoveryPointsOld Protected is False: old; data: CreateFailed: no"},
	} {
		t.Run(name, func(t *testing.T) {
			recorder, now := events.NewFakeRecorder(5), time.Unix(1000, 0)
			turned := Turned{Events: recorder}
			warn := func() { turned.Warn(now, object, tc.before, tc.after, "data: CreateFailed: no", "Ready", "Protected") }
			warn()
			warn()
			now = time.Unix(1059, 0)
			warn()
			got := ""
			if len(recorder.Events) > 0 {
				got = <-recorder.Events
			}
			second, n := "", len(recorder.Events)
			if n > 0 {
				second = <-recorder.Events
			}
			if got != tc.want || second != tc.second || n > 1 {
				t.Errorf("got %q, %q and %d of the second, want %q and %q", got, second, n, tc.want, tc.second)
			}
			now = time.Unix(1060, 0)
			if warn(); (len(recorder.Events) > 0) != (tc.want != "") {
				t.Errorf("a minute later: %d events", len(recorder.Events))
			}
		})
	}
}

// Contract: STAT-18.
func TestASecondConditionThatTurnsWithinTheMinuteIsAnEvent(t *testing.T) {
	recorder := events.NewFakeRecorder(5)
	turned, object := Turned{Events: recorder}, &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "nightly"}}
	isFalse := func(kind string) metav1.Condition {
		return metav1.Condition{Type: kind, Status: "False", Reason: "Why"}
	}
	ready, protected := isFalse("Ready"), isFalse("Protected")
	turned.Warn(time.Unix(1000, 0), object, nil, []metav1.Condition{ready}, "", "Ready", "Protected")
	turned.Warn(time.Unix(1030, 0), object, []metav1.Condition{ready}, []metav1.Condition{ready, protected}, "", "Ready", "Protected")
	if n := len(recorder.Events); n != 2 {
		t.Errorf("%d events", n)
	}
}
