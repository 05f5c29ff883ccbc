// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// describe tells the status of a schedule in a few lines.
func describe(s *v1alpha1.SnapshotSchedule, now time.Time) string {
	st := &s.Status
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-22s%s\n", name, fmt.Sprintf(format, args...))
	}
	line("inputs", "%d PVCs", st.Inputs.PersistentVolumeClaims.Total)
	line("outputs", "%d VolumeSnapshots, %d ready", st.Outputs.VolumeSnapshots.Total, st.Outputs.VolumeSnapshots.Ready)
	line("detached", "%d VolumeSnapshots of %d PVCs that are gone", st.Detached.VolumeSnapshots, st.Detached.MapKeys)
	line("lastSnapshotTime", "%s", when(st.LastSnapshotTime, now))
	line("nextSnapshotTime", "%s", when(st.NextSnapshotTime, now))
	line("oldestRecoveryPoint", "%s", when(st.OldestRecoveryPoint, now))
	for _, c := range st.Conditions {
		line("condition", "%s=%s (%s) %s", c.Type, c.Status, c.Reason, c.Message)
	}
	for _, p := range st.Problems {
		line("problem", "%s %s: %s", p.PersistentVolumeClaim, p.Reason, p.Message)
	}
	if len(st.Problems) == 0 {
		line("problems", "none")
	}
	return b.String()
}

func when(t *metav1.Time, now time.Time) string {
	if t == nil {
		return "none"
	}
	clock := t.UTC().Format(time.RFC3339)
	if d := now.Sub(t.Time).Truncate(time.Second); d >= 0 {
		return fmt.Sprintf("%s (%s ago)", clock, d)
	}
	return fmt.Sprintf("%s (in %s)", clock, t.Sub(now).Truncate(time.Second))
}
