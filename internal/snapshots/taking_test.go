// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// Contract: MAP-11.
func TestMapSkips(t *testing.T) {
	runMap(t, map[string]mapCase{
		"Pending": {
			schedule: every("6h"), claim: claim("data").phase(corev1.ClaimPending), wantSkipped: "not Bound",
		},
		"Lost": {
			schedule: every("6h"), claim: claim("data").phase(corev1.ClaimLost), wantSkipped: "not Bound",
		},
		"no phase yet": {
			schedule: every("6h"), claim: claim("data").phase(""), wantSkipped: "not Bound",
		},
		"being deleted": {
			schedule: every("6h"), claim: claim("data").deleting(), wantSkipped: "being deleted",
		},
		"being deleted and not Bound": {
			schedule: every("6h"), claim: claim("data").deleting().phase(corev1.ClaimLost), wantSkipped: "being deleted",
		},
		"requested for one that is not Bound": {
			schedule: every("6h"), claim: claim("data").phase(corev1.ClaimPending).requested(stamp(ago(time.Second))),
			wantSkipped: "not Bound",
		},
		"retention goes on, with the floor": {
			schedule: every("6h").ttl("1h"), claim: claim("data").phase(corev1.ClaimLost),
			snapshots:  []aSnapshot{ready(2 * time.Hour), ready(3 * time.Hour)},
			wantDelete: []string{"3h0m0s"}, wantEvidence: []string{"2h0m0s"}, wantSkipped: "not Bound",
		},
		"no problem of one that can't be snapshotted": {
			schedule: every("6h"), claim: claim("data").phase(corev1.ClaimLost),
			snapshots: []aSnapshot{uncut(2 * time.Hour)}, wantSkipped: "not Bound",
		},
	})
}

// Contract: ONE-1, ONE-2, ONE-4, ONE-5, ONE-6.
func TestMapOneAtATime(t *testing.T) {
	runMap(t, map[string]mapCase{
		"uncut and young blocks": {
			schedule: every("6h"), snapshots: []aSnapshot{uncut(time.Hour + time.Minute).created(ago(59 * time.Minute))},
			wantNext: in(time.Minute),
		},
		"an upload blocks for as long as it takes, and is told": {
			schedule: every("6h"), snapshots: []aSnapshot{uploading(2 * day)},
			wantProblem: v1alpha1.ReasonSnapshotOverdue + " " + v1alpha1.ReasonSnapshotSlow, wantNext: in(5 * time.Hour),
		},
		"an upload that blocks one slot is slow and nothing else": {
			schedule: every("6h"), snapshots: []aSnapshot{uploading(7 * time.Hour)},
			wantProblem: v1alpha1.ReasonSnapshotSlow, wantNext: in(5 * time.Hour),
		},
		"an upload that blocks nothing is no problem": {
			schedule: every("6h"), snapshots: []aSnapshot{uploading(time.Hour)}, wantNext: in(5 * time.Hour),
		},
		"cut and in error doesn't block": {
			schedule: every("6h"), snapshots: []aSnapshot{erring(90 * time.Minute).created(ago(time.Minute))},
			wantCreate: ago(time.Hour),
		},
		"cut and failed doesn't block; it is told": {
			schedule: every("6h"), snapshots: []aSnapshot{erring(7 * time.Hour)},
			wantCreate: ago(time.Hour), wantProblem: v1alpha1.ReasonSnapshotFailed,
		},
		"uncut and failed, its own slot still the newest: stays": {
			schedule: every("6h"), snapshots: []aSnapshot{uncut(time.Hour)},
			wantProblem: v1alpha1.ReasonSnapshotFailed, wantNext: in(5 * time.Hour),
		},
		"uncut and failed, a new slot is due: deleted first": {
			schedule: every("6h"), snapshots: []aSnapshot{uncut(7 * time.Hour)},
			wantDelete: []string{"7h0m0s"}, wantProblem: v1alpha1.ReasonSnapshotFailed,
		},
		"uncut and on its way out: nothing yet, and still told": {
			schedule: every("6h"), snapshots: []aSnapshot{uncut(7 * time.Hour).deleting()},
			wantProblem: v1alpha1.ReasonSnapshotFailed,
		},
		"uncut, young and on its way out: nothing yet": {
			schedule: every("6h"), snapshots: []aSnapshot{uncut(7 * time.Hour).created(ago(time.Minute)).deleting()},
		},
		"uncut and gone: the slot of now is taken": {
			schedule: every("6h"), wantCreate: ago(time.Hour),
		},
		"uncut and held blocks": {
			schedule: every("6h"), snapshots: []aSnapshot{uncut(7 * time.Hour).held()},
			wantProblem: v1alpha1.ReasonSnapshotFailed,
		},
		"uncut behind a newer ready one blocks as well": {
			schedule: every("6h"), snapshots: []aSnapshot{ready(7 * time.Hour), uncut(13 * time.Hour).held()},
		},
		"uncut and failed waits while suspended": {
			schedule: every("6h").suspended(), snapshots: []aSnapshot{uncut(7 * time.Hour)},
			wantProblem: v1alpha1.ReasonSnapshotFailed,
		},
		"an older one that lost its readiness never blocks": {
			schedule: every("6h"), snapshots: []aSnapshot{ready(7 * time.Hour), uploading(13 * time.Hour)},
			wantCreate: ago(time.Hour),
		},
		"an upload on its way out doesn't block": {
			schedule: every("6h"), snapshots: []aSnapshot{uploading(7 * time.Hour).deleting()}, wantCreate: ago(time.Hour),
		},
		"readyDeadline of the spec": {
			schedule: withReadyDeadline(every("6h"), "10h"), snapshots: []aSnapshot{uncut(7 * time.Hour)},
			wantNext: in(3 * time.Hour),
		},
		"uncut of a PVC that is being deleted goes at once": {
			schedule: every("6h"), claim: claim("data").deleting(), snapshots: []aSnapshot{uncut(time.Minute)},
			wantDelete: []string{"1m0s"}, wantSkipped: "being deleted",
		},
		"cut of a PVC that is being deleted stays": {
			schedule: every("6h"), claim: claim("data").deleting(), snapshots: []aSnapshot{uploading(time.Minute)},
			wantSkipped: "being deleted",
		},
	})
}

func withReadyDeadline(s aSchedule, d v1alpha1.Duration) aSchedule {
	s.Spec.ReadyDeadline = d
	return s
}

// Contract: STAT-5.
func TestMapOverdue(t *testing.T) {
	runMap(t, map[string]mapCase{
		"a whole interval with none served": {
			schedule: every("6h").deadline("1h"), snapshots: []aSnapshot{ready(13 * time.Hour)},
			wantProblem: v1alpha1.ReasonSnapshotOverdue,
		},
		"the slot before is served": {
			schedule: every("6h").deadline("1h"), snapshots: []aSnapshot{ready(7 * time.Hour)},
		},
		"taken just now": {
			schedule: every("6h"), snapshots: []aSnapshot{ready(13 * time.Hour)}, wantCreate: ago(time.Hour),
		},
		"a cron slot with none served": {
			schedule: cron("0 * * * *", "").deadline("1m"), claim: claim("data").created(ago(day)),
			snapshots:  []aSnapshot{ready(2 * time.Hour)},
			wantCreate: noon,
		},
		"not while suspended": {
			schedule: every("6h").deadline("1h").suspended(), snapshots: []aSnapshot{ready(13 * time.Hour)},
		},
		"not of a new PVC": {
			schedule: every("6h").deadline("1h"), claim: claim("data").created(ago(2 * time.Hour)),
		},
	})
}

// Contract: RET-7, GUARD-4.
func TestMapRetention(t *testing.T) {
	runMap(t, map[string]mapCase{
		"expired goes, the floor stays, and the decision rests on it": {
			schedule:   every("6h").ttl("5h"),
			snapshots:  []aSnapshot{ready(7 * time.Hour), ready(time.Hour)},
			wantDelete: []string{"7h0m0s"}, wantEvidence: []string{"1h0m0s"}, wantNext: in(4 * time.Hour),
		},
		"the floor counts ready ones only": {
			schedule:    every("6h").ttl("5h"),
			snapshots:   []aSnapshot{uncut(time.Hour), ready(7 * time.Hour)},
			wantProblem: v1alpha1.ReasonSnapshotFailed,
		},
		"a floor of none": {
			schedule: every("6h").ttl("5h").minReady(0), snapshots: []aSnapshot{ready(7 * time.Hour), ready(time.Hour)},
			wantDelete: []string{"7h0m0s"}, wantEvidence: []string{},
		},
		"held by annotation, whatever its value": {
			schedule: every("6h").ttl("5h"), snapshots: []aSnapshot{ready(7 * time.Hour).held(), ready(time.Hour)},
		},
		"held by a restore, and looked at again soon": {
			schedule: every("6h").ttl("5h"), snapshots: []aSnapshot{ready(7 * time.Hour), ready(time.Hour)},
			restoring: []string{"7h0m0s"}, wantNext: in(time.Minute),
		},
		"maxCount": {
			schedule:   every("6h").maxCount(2),
			snapshots:  []aSnapshot{ready(time.Hour), ready(7 * time.Hour), ready(13 * time.Hour)},
			wantDelete: []string{"13h0m0s"},
		},
		"one that is being deleted is not deleted again": {
			schedule: every("6h").ttl("5h"), snapshots: []aSnapshot{ready(7 * time.Hour).deleting(), ready(time.Hour)},
		},
		"suspended: retention goes on": {
			schedule: every("6h").ttl("5h").suspended(), snapshots: []aSnapshot{ready(7 * time.Hour), ready(time.Hour)},
			wantDelete: []string{"7h0m0s"},
		},
		"expires and is due together": {
			schedule: every("6h").ttl("5h"), snapshots: []aSnapshot{ready(13 * time.Hour), ready(7 * time.Hour)},
			wantCreate: ago(time.Hour), wantDelete: []string{"13h0m0s"},
		},
	})
}

// Contract: API-5.
func TestMapInvalidSpec(t *testing.T) {
	runMap(t, map[string]mapCase{
		"nothing is created nor deleted": {
			schedule:  cron("0 0 30 2 *", "").ttl("1h"),
			snapshots: []aSnapshot{ready(2 * day), ready(day), uncut(3 * day)},
			wantNext:  never,
		},
	})
}
