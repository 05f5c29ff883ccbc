// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import "testing"

func TestField(t *testing.T) {
	text := "processor\t: 0\nmodel name\t: Some CPU @ 2.0 GHz: fast\nmodel\t\t: 17\n"
	if got := field(text, "model name"); got != "Some CPU @ 2.0 GHz: fast" {
		t.Errorf("got %q", got)
	}
	if got := field(text, "name"); got != "" {
		t.Errorf("of a field that is not there: %q", got)
	}
}

func TestMachineString(t *testing.T) {
	m := Machine{CPU: "X", Cores: 2, Memory: 23 << 30, Go: "go1.26", Commit: "abc", Day: "2026-01-02", Load: "0.10"}
	if got, want := m.String(), "2 cores of X, 23 GiB, go1.26, commit abc, 2026-01-02, load 0.10 before it began"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := (Machine{Cores: 4, Go: "go1.26"}).String(), "4 cores, go1.26"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
