// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"mapcontroller.dev/snapshotschedule/internal/report"
)

// Contract: API-7.
func TestProblemOfAMalformedRequestIsBounded(t *testing.T) {
	for value, want := range map[string]string{
		"tomorrow":                      `"tomorrow"; write an RFC 3339 time such as 2026-01-31T12:00:00Z`,
		"2026-06-15T12:00:00Z a,":       `"2026-06-15T12:00:00Z a,"; write an RFC 3339 time, a space and the names of PVCs`,
		strings.Repeat("x", 40):         `"` + strings.Repeat("x", 40) + `"; write`,
		strings.Repeat("x", 40_000):     `"` + strings.Repeat("x", 37) + `…"; it names more than 100 PVCs`,
		strings.Repeat("\x1b[2J", 100):  `"\u001b[2J\u001b[2J`,
		strings.Repeat("\xff", 100):     `"`,
		strings.Repeat("\U0001f600", 9): `"😀`,
	} {
		got := scheduleProblem(every("6h").requested(value).SnapshotSchedule, origin{}).Message
		if !strings.HasPrefix(got, "annotation snapshots.mapcontroller.dev/requested-at is "+want) {
			t.Errorf("%.50q: %q", value, got)
		}
		if len(got) > report.MaxMessage || !utf8.ValidString(got) || strings.ContainsFunc(got, unicode.IsControl) {
			t.Errorf("%.50q: the message has %d bytes: %q", value, len(got), got)
		}
	}
}
