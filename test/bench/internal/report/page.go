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
	"fmt"
	"strings"
)

// What stands between these lines of a page is written by the benchmarks.
const (
	begin = "<!-- begin: measured by go run ./test/bench --write -->"
	end   = "<!-- end: measured -->"
)

// IntoPage puts the result between the markers of a page and leaves the rest alone.
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
