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
