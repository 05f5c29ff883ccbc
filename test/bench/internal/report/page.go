// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"strings"
)

// The benchmarks write the text between these lines of a page.
const (
	begin = "<!-- begin: measured by go run ./test/bench --write -->"
	end   = "<!-- end: measured -->"
)

// IntoPage replaces the text between the markers of a page by the result.
func IntoPage(page string, r Result) (string, error) {
	before, rest, ok := strings.Cut(page, begin)
	if !ok {
		return "", fmt.Errorf("the page has no line %q: add it, and %q after it", begin, end)
	}
	_, after, ok := strings.Cut(rest, end)
	if !ok {
		return "", fmt.Errorf("the page has no line %q after %q", end, begin)
	}
	return before + begin + "\n" + r.markdown() + end + after, nil
}

func (r Result) markdown() string {
	var text strings.Builder
	fmt.Fprintf(&text, "\nMeasured on %s; %s.\n\n%s\n", r.Machine, r.Settings, r.Table().Markdown())
	for _, t := range r.Details {
		fmt.Fprintf(&text, "### %s\n\n%s\n", t.Title, t.Markdown())
	}
	return text.String()
}
