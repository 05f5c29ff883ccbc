// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import "testing"

func TestTargets(t *testing.T) {
	for _, c := range []struct {
		name string
		row  Row
		want Met
	}{
		{"at least, above", Row{}.AtLeast(91, 90, "90 %"), Yes},
		{"at least, hit", Row{}.AtLeast(90, 90, "90 %"), Yes},
		{"at least, below", Row{}.AtLeast(89.9, 90, "90 %"), No},
		{"at most, below", Row{}.AtMost(1, 1.5, "1.5"), Yes},
		{"at most, hit", Row{}.AtMost(1.5, 1.5, "1.5"), Yes},
		{"at most, above", Row{}.AtMost(1.51, 1.5, "1.5"), No},
		{"exactly", Row{}.Exactly(1, 1, "1"), Yes},
		{"exactly, not", Row{}.Exactly(1.001, 1, "1"), No},
		{"no target", Row{}, ""},
	} {
		if c.row.Met != c.want {
			t.Errorf("%s: %q, want %q", c.name, c.row.Met, c.want)
		}
	}
}

func TestMissed(t *testing.T) {
	r := Result{Rows: []Row{{Met: No}, {Met: Yes}, {}, {Met: No}}}
	if got := r.Missed(); got != 2 {
		t.Errorf("got %d", got)
	}
}

func TestBytes(t *testing.T) {
	for n, want := range map[float64]string{118.4e6: "118 MB", 2.34e6: "2.3 MB", 1234: "1.23 kB", 0: "0.00 kB"} {
		if got := Bytes(n); got != want {
			t.Errorf("Bytes(%v) = %q, want %q", n, got, want)
		}
	}
}
