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

// Contract: CLI-42.
func TestTimesAheadAreRounded(t *testing.T) {
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	for ahead, want := range map[time.Duration]string{
		-time.Second: "now", 0: "now", 1500 * time.Millisecond: "2s", 119*time.Second + 600*time.Millisecond: "2m",
		9*time.Minute + 59*time.Second: "9m59s", 119*time.Minute + 40*time.Second: "120m", 5*time.Hour + 59*time.Minute + 50*time.Second: "6h",
		7*time.Hour + 59*time.Minute + 40*time.Second: "8h", 11*time.Hour + 40*time.Minute: "12h", 47*time.Hour + 40*time.Minute: "2d",
		5*Day + 23*time.Hour + 40*time.Minute: "6d", 7*Day + 23*time.Hour + 50*time.Minute: "8d", 10*Day - 15*time.Second: "10d",
		7*Day + 12*time.Hour: "7d12h", 9*Day + 13*time.Hour: "9d",
	} {
		if got := Until(now, now.Add(ahead)); got != want {
			t.Errorf("%s: %s, want %s", ahead, got, want)
		}
	}
}
