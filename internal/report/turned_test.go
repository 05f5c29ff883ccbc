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
	}{
		"turns False":             {[]metav1.Condition{isTrue}, []metav1.Condition{failing}, "Warning SnapshotsFailing Ready is False: why; data: CreateFailed: no"},
		"is False from the start": {nil, []metav1.Condition{invalid}, "Warning InvalidSpec Ready is False: why; data: CreateFailed: no"},
		"has another reason":      {[]metav1.Condition{failing}, []metav1.Condition{invalid}, "Warning InvalidSpec Ready is False: why; data: CreateFailed: no"},
		"is False as before":      {[]metav1.Condition{failing}, []metav1.Condition{failing}, ""},
		"turns True":              {[]metav1.Condition{failing}, []metav1.Condition{isTrue}, ""},
		"the second one turns":    {[]metav1.Condition{failing}, []metav1.Condition{failing, protected}, "Warning RecoveryPointsOld Protected is False: old; data: CreateFailed: no"},
		"both turn: one event":    {nil, []metav1.Condition{failing, protected}, "Warning SnapshotsFailing Ready is False: why; data: CreateFailed: no"},
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
			if got != tc.want || len(recorder.Events) > 0 {
				t.Errorf("got %q and %d more, want %q", got, len(recorder.Events), tc.want)
			}
			now = time.Unix(1060, 0)
			if warn(); (len(recorder.Events) == 1) != (tc.want != "") {
				t.Errorf("a minute later: %d events", len(recorder.Events))
			}
		})
	}
}
