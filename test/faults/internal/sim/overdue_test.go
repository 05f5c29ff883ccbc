// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/sim/kube"
)

// The watch of snapshots breaks: the operator takes one for each slot, and sees none of them.
func TestBrokenWatchIsOverdue(t *testing.T) {
	s := hourly(v1alpha1.Retention{}, "")
	s.after(90 * time.Minute)
	expectReason(t, s, v1alpha1.ReasonScheduled)
	s.sim.freezeKind(kube.Snapshots, 4*time.Hour)
	s.after(time.Hour) // one slot
	expectReason(t, s, v1alpha1.ReasonScheduled)
	s.after(50 * time.Minute) // the second, at 3h, and a quarter of an hour, after which every key is reconciled
	for range 60 {            // beyond the third
		expectReason(t, s, v1alpha1.ReasonSnapshotsFailing)
		s.after(time.Minute)
	}
	if p := s.Schedule("plan").Status.Problems; len(p) != 1 || p[0].Reason != v1alpha1.ReasonSnapshotOverdue {
		t.Errorf("problems are %+v", p)
	}
	s.after(4 * time.Hour)
	expectReason(t, s, v1alpha1.ReasonScheduled)
}

func expectReason(t *testing.T, s *Environment, reason string) {
	t.Helper()
	c := meta.FindStatusCondition(s.Schedule("plan").Status.Conditions, v1alpha1.ConditionReady)
	if c == nil || c.Reason != reason {
		t.Errorf("%s: condition Ready is %+v, want reason %s", s.Now().Sub(startTime), c, reason)
	}
}
