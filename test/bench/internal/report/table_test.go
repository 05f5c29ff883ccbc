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

var sample = Table{
	Title:  "Results",
	Header: []string{"what", "ratio"},
	Rows:   [][]string{{"creates a second", "97 %"}, {"a|b ≥", ""}},
}

func TestWrite(t *testing.T) {
	var out strings.Builder
	if err := sample.Write(&out); err != nil {
		t.Fatal(err)
	}
	want := strings.Join([]string{
		"Results", "",
		"what              ratio",
		"────────────────  ─────",
		"creates a second  97 %",
		"a|b ≥", "",
	}, "\n")
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

func TestMarkdown(t *testing.T) {
	want := "| what | ratio |\n| --- | --- |\n| creates a second | 97 % |\n| a\\|b ≥ |  |\n"
	if got := sample.Markdown(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
