// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A row of the threat model names its tests by file and by the text of the spec, or the name of the function.
var evidence = regexp.MustCompile("`([^`]+_test\\.go)` \"([^\"]+)\"")

func TestEveryRowOfTheThreatModelNamesTestsThatExist(t *testing.T) {
	_, section, _ := strings.Cut(read(t, "SECURITY.md"), "\n## Threat model\n")
	section, _, _ = strings.Cut(section, "\n## ")
	rows := 0
	for line := range strings.Lines(section) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| who may") || strings.HasPrefix(line, "| ---") {
			continue
		}
		rows++
		who := strings.TrimSpace(cells[0])
		if len(cells) != 4 {
			t.Errorf("%s: %d cells", who, len(cells))
			continue
		}
		for name := range strings.SplitSeq(cells[3], "; ") {
			m := evidence.FindStringSubmatch(name)
			if m == nil || m[0] != strings.TrimSpace(name) {
				t.Errorf("%s: %q is not of the form `file_test.go` \"test\"", who, name)
				continue
			}
			if err := hasTest(m[1], m[2]); err != nil {
				t.Errorf("%s: %v", who, err)
			}
		}
	}
	if rows < 10 {
		t.Errorf("found only %d rows", rows)
	}
}

// hasTest returns an error unless a file has a test function or a text of a spec, table or entry.
func hasTest(file, name string) error {
	text, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		return err
	}
	found := strings.Contains(string(text), fmt.Sprintf("(%q,", name)) || strings.Contains(string(text), fmt.Sprintf("\t%q:", name)) ||
		strings.Contains(string(text), "\nfunc "+name+"(t *testing.T) {")
	if !found {
		return fmt.Errorf("%s has no test %q", file, name)
	}
	return nil
}
