// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"errors"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Contract: API-5, ONE-6, RET-9.
func TestTombstone(t *testing.T) {
	old := []aSnapshot{ready(2 * day), ready(3 * day)}
	tests := map[string]struct {
		mapCase
		gone bool
	}{
		"gone: the usual TTL, and no floor": {
			mapCase: mapCase{schedule: every("6h").ttl("60h"), snapshots: old, wantDelete: []string{"72h0m0s"},
				wantEvidence: []string{}, wantNext: in(12 * time.Hour)},
			gone: true,
		},
		"gone: all of it goes in the end": {
			mapCase: mapCase{schedule: every("6h").ttl("1h"), snapshots: old, wantDelete: []string{"48h0m0s", "72h0m0s"}, wantNext: never},
			gone:    true,
		},
		"gone: a floor of its own": {
			mapCase: mapCase{schedule: every("6h").ttl("1h").detached("", 1), snapshots: old,
				wantDelete: []string{"72h0m0s"}, wantEvidence: []string{"48h0m0s"}},
			gone: true,
		},
		"gone: a TTL of its own": {
			mapCase: mapCase{schedule: every("6h").ttl("1h").detached("60h", 0), snapshots: old, wantDelete: []string{"72h0m0s"}},
			gone:    true,
		},
		"gone: without any limit nothing goes": {
			mapCase: mapCase{schedule: every("6h"), snapshots: old, wantNext: never},
			gone:    true,
		},
		// Our clock was ahead, and is believed. When it is right again, status must
		// not go on to tell the slot.
		"gone: a slot ahead of the API server's clock is looked at again": {
			mapCase: mapCase{schedule: every("6h"), snapshots: []aSnapshot{ready(2 * day).created(ago(3 * day)), ready(4 * day)},
				wantNext: in(clockLook)},
			gone: true,
		},
		"gone: no new ones, whatever is due or requested": {
			mapCase: mapCase{schedule: every("1h").requested(stamp(ago(time.Second))), snapshots: old},
			gone:    true,
		},
		"gone: what is uncut goes at once": {
			mapCase: mapCase{schedule: every("6h"), snapshots: []aSnapshot{uncut(time.Minute), ready(day)}, wantDelete: []string{"1m0s"}},
			gone:    true,
		},
		"gone: an upload is held": {
			mapCase: mapCase{schedule: every("6h").ttl("1h"), snapshots: []aSnapshot{uploading(2 * time.Hour)}},
			gone:    true,
		},
		"gone: hold wins": {
			mapCase: mapCase{schedule: every("6h").ttl("1h"), snapshots: []aSnapshot{ready(day).held(), uncut(time.Minute).held()}},
			gone:    true,
		},
		"unselected: the usual floor": {
			mapCase: mapCase{schedule: every("6h").ttl("1h"), snapshots: old,
				wantDelete: []string{"72h0m0s"}, wantEvidence: []string{"48h0m0s"}},
		},
		"unselected: the floor of the detached is for those gone": {
			mapCase: mapCase{schedule: every("6h").ttl("1h").detached("", 2), snapshots: old,
				wantDelete: []string{"72h0m0s"}, wantEvidence: []string{"48h0m0s"}},
		},
		"unselected: a TTL of its own": {
			mapCase: mapCase{schedule: every("6h").ttl("30d").detached("1h", 0), snapshots: old,
				wantDelete: []string{"72h0m0s"}, wantEvidence: []string{"48h0m0s"}},
		},
		"unselected: what is uncut stays while its PVC does": {
			mapCase: mapCase{schedule: every("6h"), snapshots: []aSnapshot{uncut(time.Minute)}},
		},
		"unselected and being deleted: what is uncut goes": {
			mapCase: mapCase{schedule: every("6h"), claim: claim("data").deleting(), snapshots: []aSnapshot{uncut(time.Minute)},
				wantDelete: []string{"1m0s"}},
		},
		"unselected and not Bound is not called skipped": {
			mapCase: mapCase{schedule: every("6h"), claim: claim("data").phase(corev1.ClaimLost), snapshots: old},
		},
		"invalid spec: nothing": {
			mapCase: mapCase{schedule: cron("0 0 30 2 *", "").ttl("1h"), snapshots: old, wantNext: never},
			gone:    true,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r := tc.request()
			if tc.gone {
				r.Input = nil
			}
			result := tc.mapper().Tombstone(r)
			tc.check(t, read(result, r.Outputs))
			if !result.Note.NextSlot.IsZero() || !result.Note.RecoveryPoint.IsZero() {
				t.Errorf("a detached series has a next slot or a recovery point: %+v", result.Note)
			}
		})
	}
}

// What can't be looked up may be a restore: everything is kept until it can.
func TestUnknownRestoresKeepEverything(t *testing.T) {
	s := every("6h")
	s.Spec.SnapshotTTL = "1d"
	s.Spec.Retention.Detached.MinReady = 0
	m := &mapper{policies: newPolicies(), restoring: func(string) (map[string]bool, error) {
		return nil, errors.New("not synced")
	}}
	old := mapCase{schedule: s, snapshots: []aSnapshot{ready(7 * day), ready(8 * day)}}
	for name, decide := range map[string]func(mapRequest) mapResult{"map": m.Map, "tombstone": m.Tombstone} {
		t.Run(name, func(t *testing.T) {
			r := old.request()
			got := decide(r)
			if !slices.Equal(got.Outputs, r.Outputs) {
				t.Errorf("wants %v, want what there is", got.Outputs)
			}
			if want := r.Now.Add(restoreLook); !got.Next.Equal(want) {
				t.Errorf("looks again at %v, want %v", got.Next, want)
			}
		})
	}
}
