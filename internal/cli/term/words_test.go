// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package term

import (
	"testing"
	"time"
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
			if got := Due(at, tc.slot); got != tc.want {
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
		if got := ShellWord(text); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}
