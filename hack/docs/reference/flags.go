// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"fmt"
	"os/exec"
	"regexp"
	"strings"
)

var (
	flagLine    = regexp.MustCompile(`^  -([a-z0-9-]+)(?: (\w+))?(?:\t(.*))?$`)
	flagDefault = regexp.MustCompile(` \(default (.*)\)$`)
)

// flagTable returns the table of the manager's flags. It parses the manager's help,
// because libraries define some of the flags.
func flagTable(root string) (string, error) {
	help := exec.Command("go", "run", "-buildvcs=false", "./cmd", "--help")
	help.Dir = root
	output, err := help.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", help, err, output)
	}
	rows := [][]string{}
	for line := range strings.Lines(string(output)) {
		line = strings.TrimRight(line, "\n")
		if m := flagLine.FindStringSubmatch(line); m != nil {
			valueType := m[2]
			if valueType == "" {
				valueType = "boolean"
			}
			rows = append(rows, []string{code("--" + m[1]), valueType, "", m[3]})
		} else if len(rows) > 0 {
			row := rows[len(rows)-1]
			row[3] += " " + strings.TrimSpace(line)
		}
	}
	if len(rows) == 0 {
		return "", fmt.Errorf("%s lists no flags:\n%s", help, output)
	}
	for _, row := range rows {
		if m := flagDefault.FindStringSubmatch(row[3]); m != nil {
			row[2] = code(strings.Trim(m[1], `"`))
			row[3] = strings.TrimSuffix(row[3], m[0])
		}
		row[3] = sentence(row[3])
	}
	return markdownTable([]string{"flag", "type", "default", "meaning"}, rows), nil
}
