// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"testing"
	"time"

	"mapcontroller.dev/snapshotschedule/internal/retention"
)

func TestDue(t *testing.T) {
	at := time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC)
	for name, tc := range map[string]struct {
		slot time.Time
		want string
	}{
		"none":     {time.Time{}, ""},
		"later":    {at.Add(5 * time.Hour), "5h"},
		"now":      {at, "now"},
		"just now": {at.Add(-59 * time.Second), "now"},
		"overdue":  {at.Add(-time.Minute), "overdue 60s"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := due(at, tc.slot); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

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
			if got := heldWords(tc.value, tc.end); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestWordsOfACommandLineAreQuoted(t *testing.T) {
	for text, want := range map[string]string{
		"data-db-0,data-db-1": "data-db-0,data-db-1", "statefulset/db": "statefulset/db", "": "''", "-x": "'-x'",
		"a; rm -rf .": "'a; rm -rf .'", "a'b": `'a'\''b'`, "$(x)": "'$(x)'", "a\nb": "'a\nb'",
	} {
		if got := word(text); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}
