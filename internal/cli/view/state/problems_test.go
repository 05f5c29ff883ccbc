// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/clitest"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
)

// Contract: STAT-19.
func TestAReportedProblemIsShownWithItsAgeIfOnlyTheOperatorKnowsIt(t *testing.T) {
	now := clitest.Start.AddDate(0, 0, 30).Add(time.Minute)
	for reason, want := range map[string]string{
		v1alpha1.ReasonInternalError:      "InternalError (for 5m): as reported",
		v1alpha1.ReasonSnapshotError:      "SnapshotError (for 5m): as reported",
		v1alpha1.ReasonVolumeLimit:        "VolumeLimit (for 5m): as reported",
		"OfALaterOperator":                "OfALaterOperator (for 5m): as reported",
		v1alpha1.ReasonGroupStopped:       "",
		v1alpha1.ReasonClaimLost:          "",
		v1alpha1.ReasonDeletionStuck:      "",
		v1alpha1.ReasonSnapshotKeepsClaim: "",
		v1alpha1.ReasonRestorePending:     "",
		v1alpha1.ReasonGroupIncomplete:    "",
	} {
		t.Run(reason, func(t *testing.T) {
			s, claim := clitest.Schedule("nightly", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "6h"}), clitest.Claim("data", nil)
			s.Status.ObservedGeneration = s.Generation
			s.Status.Problems = []v1alpha1.Problem{{
				PersistentVolumeClaim: "data", Reason: reason, Message: "as reported", SinceTime: metav1.NewTime(now.Add(-5 * time.Minute)),
			}}
			inv := &view.Inventory{Claims: map[string][]client.Object{"shop": {claim}}, Snapshots: map[string][]client.Object{
				"shop": {clitest.Snapshot(s, claim, now.Truncate(time.Hour))}}}
			if got := StatusOf(s, inv, now).PersistentVolumeClaims[0].ProblemWords(now); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}
