// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Contract: API-5, MAP-12, ONE-6, RET-9, RET-11.
func TestTombstone(t *testing.T) {
	old := series{ready(2 * day), ready(3 * day)}
	tests := map[string]mapCase{
		"gone: the usual TTL and no floor": {
			gone: true, schedule: every("6h").ttl("60h"), snapshots: old, wantDelete: []string{"72h0m0s"}, wantReason: "Expired",
			wantEvidence: []string{}, wantNext: in(12 * time.Hour),
		},
		"gone: everything is deleted in the end": {
			gone: true, schedule: every("6h").ttl("1h"), snapshots: old,
			wantDelete: []string{"48h0m0s", "72h0m0s"}, wantNext: never,
		},
		"gone: a floor of its own": {
			gone: true, schedule: every("6h").ttl("1h").detached("", 1), snapshots: old,
			wantDelete: []string{"72h0m0s"}, wantEvidence: []string{"48h0m0s"},
		},
		"gone: a TTL of its own": {
			gone: true, schedule: every("6h").ttl("1h").detached("60h", 0), snapshots: old, wantDelete: []string{"72h0m0s"},
		},
		"gone: without any limit nothing is deleted": {gone: true, schedule: every("6h"), snapshots: old, wantNext: never},
		// The local clock was ahead, and is believed. When it is right again, status
		// must stop reporting the slot.
		"gone: a slot ahead of the API server's clock is checked again": {
			gone: true, schedule: every("6h"), snapshots: series{ready(2 * day).created(ago(3 * day)), ready(4 * day)},
			wantNext: in(clockCheck),
		},
		"gone: a slot that is ahead by less than clocks may differ is not": {
			gone: true, schedule: every("6h"), snapshots: series{ready(2 * day).created(ago(2*day + time.Minute)), ready(4 * day)},
			wantNext: never,
		},
		"gone: creates none, whatever is due or requested": {
			gone: true, schedule: every("1h").requested(rfc3339(ago(time.Second))), snapshots: old,
		},
		"gone: uncut ones are deleted at once": {
			gone: true, schedule: every("6h"), snapshots: series{uncut(time.Minute), ready(day)},
			wantDelete: []string{"1m0s"}, wantReason: "ClaimGone",
		},
		"gone: an imported one without a status goes by age": {
			gone: true, schedule: every("6h").ttl("1d"), snapshots: series{imported(2 * day), imported(time.Hour)},
			wantDelete: []string{"48h0m0s"}, wantReason: "Expired", wantNext: in(23 * time.Hour),
		},
		"gone: an upload is kept": {gone: true, schedule: every("6h").ttl("1h"), snapshots: series{uploading(2 * time.Hour)}},
		"gone: hold wins, but keeps nothing without data": {
			gone: true, schedule: every("6h").ttl("1h"), snapshots: series{ready(day).held(), uncut(time.Minute).held()}, wantDelete: []string{"1m0s"},
		},
		"gone: one held by a restore is kept": {
			gone: true, schedule: every("6h").ttl("1h"), snapshots: old, restoring: []string{"48h0m0s"},
			wantDelete: []string{"72h0m0s"}, wantNext: in(restoreCheck),
		},
		"unselected: the usual floor": {
			schedule: every("6h").ttl("1h"), snapshots: old, wantDelete: []string{"72h0m0s"}, wantEvidence: []string{"48h0m0s"},
		},
		"unselected: the detached floor is for deleted PVCs": {
			schedule: every("6h").ttl("1h").detached("", 2), snapshots: old,
			wantDelete: []string{"72h0m0s"}, wantEvidence: []string{"48h0m0s"},
		},
		"unselected: a TTL of its own": {
			schedule: every("6h").ttl("30d").detached("1h", 0), snapshots: old,
			wantDelete: []string{"72h0m0s"}, wantEvidence: []string{"48h0m0s"},
		},
		"unselected: uncut ones stay while the PVC does": {schedule: every("6h"), snapshots: series{uncut(time.Minute)}},
		"unselected and being deleted: uncut ones are deleted": {
			schedule: every("6h"), claim: claim("data").deleting(), snapshots: series{uncut(time.Minute)},
			wantDelete: []string{"1m0s"},
		},
		"unselected and not Bound is not skipped": {
			schedule: every("6h"), claim: claim("data").phase(corev1.ClaimLost), snapshots: old,
		},
		"selected but controlled by the schedule is skipped": {
			schedule: every("6h"), claim: claim("data").controlledBy(every("6h")), wantSkip: "controlled by this schedule", wantNext: never,
		},
		"controlled by the schedule and not selected is not skipped": {
			schedule: every("6h").selecting("shop"), claim: claim("data").controlledBy(every("6h")),
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			tc.tombstone = true
			got := tc.decider(t)(tc.observe())
			tc.check(t, got)
			if status := statusOf(got); !status.NextSlot.IsZero() || !status.RecoveryPoint.IsZero() {
				t.Errorf("a detached series has a next slot or a recovery point: %+v", status)
			}
			if hasStatus := len(tc.snapshots) > 0 || tc.wantSkip != ""; (got.Status != nil) != hasStatus {
				t.Errorf("status is %v, want some: %v", got.Status, hasStatus)
			}
		})
	}
}
