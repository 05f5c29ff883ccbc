/*
Copyright 2026 The SnapshotSchedule Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

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
