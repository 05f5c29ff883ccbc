// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"testing"
	"time"

	"mapcontroller.dev/snapshotschedule/internal/retention"
)

func TestHeldWords(t *testing.T) {
	until := time.Date(2027, 1, 31, 18, 0, 0, 0, time.UTC)
	for name, tc := range map[string]struct {
		value string
		end   time.Time
		want  string
	}{
		"until a time":                {"2027-01-31T18:00:00Z", until, "it is held until 2027-01-31T18:00:00Z"},
		"with the reason of a holder": {"forever: before 18", retention.Forever, "it is held: before 18"},
		"by nobody":                   {"forever: no reason given", retention.Forever, "it carries the hold annotation"},
		"with a reason":               {"before 18", retention.Forever, "it is held: before 18"},
		"without a reason":            {"true", retention.Forever, "it carries the hold annotation"},
		"held by its member":          {"", retention.Forever, "it carries the hold annotation"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := HeldWords(tc.value, tc.end); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestEveryVerdictIsExplained(t *testing.T) {
	for v := retention.NoLimit; v <= retention.KeepsClaim; v++ {
		if Explain(v) == v.String() {
			t.Errorf("%s has no explanation", v)
		}
	}
}
