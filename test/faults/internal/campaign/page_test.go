// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package campaign

import "testing"

func TestWithSectionKeepsTheRestOfThePage(t *testing.T) {
	section := func(text string) string {
		return "<!-- x: written by 'y', do not edit -->\n\n" + text + "\n<!-- /x -->\n"
	}
	page := withSection("# Page\n\nfirst\n", "x", "y", "old")
	if want := "# Page\n\nfirst\n\n" + section("old"); page != want {
		t.Fatalf("%q, want %q", page, want)
	}
	page = withSection(page+"\nlast\n", "x", "y", "new")
	if want := "# Page\n\nfirst\n\n" + section("new") + "\nlast\n"; page != want {
		t.Fatalf("%q, want %q", page, want)
	}
	if got := withSection("", "x", "y", "new"); got != section("new") {
		t.Fatalf("%q, want the section alone", got)
	}
}
