// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/backup"
)

// Contract: VER-3, VER-4, VER-5.
func TestMapReportsDrills(t *testing.T) {
	at := func(d time.Duration) string { return rfc3339(ago(d)) }
	failedAt := func(d time.Duration, reason string) string { return at(d) + " " + reason }
	for name, tc := range map[string]struct {
		claim     claimBuilder
		snapshots series
		want      time.Duration // ago; 0: no success
		// wantProblem is the message of VerificationFailed.
		wantProblem string
	}{
		"none":    {snapshots: series{ready(time.Hour)}},
		"success": {snapshots: series{ready(time.Hour).verified(at(time.Minute))}, want: time.Minute},
		"the last success, of whichever snapshot": {
			snapshots: series{ready(time.Hour).verified(at(time.Hour)), ready(7 * time.Hour).verified(at(time.Minute))}, want: time.Minute,
		},
		"failure": {
			snapshots:   series{ready(time.Hour).verifyFailed(failedAt(time.Minute, "checksum differs"))},
			wantProblem: "the last drill failed, of VolumeSnapshot 1h0m0s: checksum differs",
		},
		"failure without a reason": {
			snapshots: series{ready(time.Hour).verifyFailed(at(time.Minute))}, wantProblem: "the last drill failed, of VolumeSnapshot 1h0m0s: it gives no reason",
		},
		"failure after a success of another": {
			snapshots: series{ready(time.Hour).verifyFailed(failedAt(time.Minute, "a")), ready(7 * time.Hour).verified(at(time.Hour))},
			want:      time.Hour, wantProblem: "the last drill failed, of VolumeSnapshot 1h0m0s: a",
		},
		"success after a failure of another": {
			snapshots: series{ready(time.Hour).verifyFailed(failedAt(time.Hour, "a")), ready(7 * time.Hour).verified(at(time.Minute))}, want: time.Minute,
		},
		"failure after a success of the same, which no longer counts": {
			snapshots:   series{ready(time.Hour).verified(at(time.Hour)).verifyFailed(failedAt(time.Minute, "a"))},
			wantProblem: "the last drill failed, of VolumeSnapshot 1h0m0s: a",
		},
		"success after a failure of the same": {
			snapshots: series{ready(time.Hour).verified(at(time.Minute)).verifyFailed(failedAt(time.Hour, "a"))}, want: time.Minute,
		},
		"both at the same time, of two": {
			snapshots: series{ready(7 * time.Hour).verifyFailed(failedAt(time.Minute, "a")), ready(time.Hour).verified(at(time.Minute))},
			want:      time.Minute, wantProblem: "the last drill failed, of VolumeSnapshot 7h0m0s: a",
		},
		"malformed, and in the future": {
			snapshots: series{ready(time.Hour).verified("now").verifyFailed(at(-time.Hour)), ready(7 * time.Hour).verified(at(-time.Hour)).verifyFailed("a b")},
		},
		"of one that is being deleted": {
			snapshots: series{ready(time.Hour).deleting().verified(at(time.Minute)), ready(7 * time.Hour)}, want: time.Minute,
		},
		"of a PVC that is skipped": {
			claim:     claim("data").phase(corev1.ClaimLost),
			snapshots: series{ready(time.Hour).verifyFailed(failedAt(time.Minute, "a")), ready(7 * time.Hour).verified(at(time.Hour))},
		},
		"a reason that is long and controls terminals": {
			snapshots:   series{ready(time.Hour).verifyFailed(failedAt(time.Minute, "\x1b[2J\n"+strings.Repeat("x", 999)))},
			wantProblem: `the last drill failed, of VolumeSnapshot 1h0m0s: \u001b[2J ` + strings.Repeat("x", backup.MaxDrillReason-len(`\u001b[2J …`)) + "…",
		},
	} {
		t.Run(name, func(t *testing.T) {
			for i := range tc.snapshots {
				tc.snapshots[i].VolumeSnapshot = strip(t, stripSnapshot, tc.snapshots[i].VolumeSnapshot)
			}
			c := mapCase{schedule: every("6h"), claim: tc.claim, snapshots: tc.snapshots}
			k := statusOf(c.decider(t)(c.observe()))
			sum := combine(keys(k))
			if want := ago(tc.want); !sum.Verified.Equal(want) && (tc.want != 0 || !sum.Verified.IsZero()) {
				t.Errorf("the last success is %v, want %v", sum.Verified, want)
			}
			var got string
			for _, p := range k.Problems {
				if p.Reason == v1alpha1.ReasonVerificationFailed {
					got = p.Message
				}
			}
			want := tc.wantProblem
			if want != "" {
				want += "; those to try next: kubectl snapsched list -n 'shop' --pvc='data'"
			}
			if got != want {
				t.Errorf("problem %q, want %q", got, want)
			}
		})
	}
}

// The cache holds the same of the drills as the API server, and nothing of what is malformed.
func TestStripKeepsDrills(t *testing.T) {
	for name, tc := range map[string]struct {
		snapshot snapshotBuilder
		want     string
	}{
		"none": {ready(0), "null"},
		"both": {
			ready(0).verified("2026-06-15T12:00:00.5+02:00").verifyFailed("2026-06-14T12:00:00Z a\tb"),
			`{"snapshots.mapcontroller.dev/verified-at":"2026-06-15T10:00:00.5Z","snapshots.mapcontroller.dev/verify-failed":"2026-06-14T12:00:00Z a b"}`,
		},
		"and a hold": {
			ready(0).verified("2026-06-15T12:00:00Z").held(),
			`{"snapshots.mapcontroller.dev/hold":"","snapshots.mapcontroller.dev/verified-at":"2026-06-15T12:00:00Z"}`,
		},
		"and a hold until a time": {
			ready(0).verified("2026-06-15T12:00:00Z").heldUntil("2026-06-16T12:00:00Z"),
			`{"snapshots.mapcontroller.dev/hold":"2026-06-16T12:00:00Z","snapshots.mapcontroller.dev/verified-at":"2026-06-15T12:00:00Z"}`,
		},
		"malformed": {ready(0).verified("x").verifyFailed("x y"), "null"},
	} {
		t.Run(name, func(t *testing.T) {
			once := strip(t, stripSnapshot, tc.snapshot.DeepCopy())
			if got := toJSON(once.Annotations); got != tc.want {
				t.Errorf("annotations are %s, want %s", got, tc.want)
			}
			if before, after := backup.Of(tc.snapshot.VolumeSnapshot), backup.Of(once); before != after {
				t.Errorf("decisions see %+v, of the whole %+v", after, before)
			}
			if again := strip(t, stripSnapshot, once.DeepCopy()); toJSON(again) != toJSON(once) {
				t.Errorf("stripped again it is %s, want %s", toJSON(again), toJSON(once))
			}
		})
	}
	v := ready(0).verifyFailed(rfc3339(noon) + " " + long(9999, 1)).VolumeSnapshot
	if got := len(strip(t, stripSnapshot, v).Annotations[v1alpha1.AnnotationVerifyFailed]); got > 240 {
		t.Errorf("a long reason takes %d bytes", got)
	}
}

func TestDrillWords(t *testing.T) {
	at := rfc3339(ago(day))
	for name, tc := range map[string]struct {
		snapshot snapshotBuilder
		want     string
	}{
		"none":                     {ready(day), ""},
		"in the future":            {ready(day).verified(rfc3339(in(day))), ""},
		"success":                  {ready(day).verified(at), "its last drill succeeded, at " + at},
		"failure":                  {ready(day).verifyFailed(at + " a\nb"), "its last drill failed, at " + at + ": a b"},
		"failure without a reason": {ready(day).verifyFailed(at), "its last drill failed, at " + at + ": it gives no reason"},
	} {
		if got := backup.DrillWords(tc.snapshot.VolumeSnapshot, noon); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}
