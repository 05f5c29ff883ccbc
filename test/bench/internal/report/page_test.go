// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"strings"
	"testing"
)

func TestIntoPage(t *testing.T) {
	r := Result{
		Machine:  Machine{Cores: 2, Go: "go1.26"},
		Settings: "1,000 PVCs",
		Rows:     []Row{{What: "fan-out", Measured: "900/s", Met: Yes}},
		Details:  []Table{sample},
	}
	page := "# Title\n\n" + begin + "\nold\n" + end + "\n\nThe rest\n"
	got, err := IntoPage(page, r)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"# Title\n\n" + begin, end + "\n\nThe rest\n", "2 cores, go1.26; 1,000 PVCs.",
		"| fan-out | 900/s |  |  |  | yes |", "### Results",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	if strings.Contains(got, "old") {
		t.Error("what was measured before is still there")
	}
	again, err := IntoPage(got, r)
	if err != nil || again != got {
		t.Errorf("written twice it differs: %v", err)
	}
}

func TestIntoPageNeedsMarkers(t *testing.T) {
	for _, page := range []string{"", begin, end + begin} {
		if got, err := IntoPage(page, Result{}); err == nil {
			t.Errorf("%q became %q", page, got)
		}
	}
}
