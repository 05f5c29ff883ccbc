// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package term

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// The widths of a help text: wider lines are hard to read, and flags in narrower ones have no room for their descriptions.
const narrowestHelp, widestHelp = 60, 100

// WrapHelp fits the help of all commands to a width: the descriptions of flags, the paragraphs of the long texts, the comments and
// commands of the examples, and the line that says how to use a command.
func WrapHelp(root *cobra.Command, width int) {
	width = min(max(width, narrowestHelp), widestHelp)
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages ", fmt.Sprintf(".FlagUsagesWrapped %d ", width)))
	usage := root.UsageTemplate()
	for _, cmd := range root.Commands() {
		lines := wrap(cmd.UseLine(), "  ", "    ", width)
		cmd.SetUsageTemplate(strings.Replace(usage, "  {{.UseLine}}", strings.Join(lines, "\n"), 1))
		cmd.Example = wrapExamples(cmd.Example, width)
	}
	for _, cmd := range append(root.Commands(), root) {
		paragraphs := strings.Split(cmd.Long, "\n\n")
		for i, text := range paragraphs {
			paragraphs[i] = strings.Join(wrap(strings.ReplaceAll(text, "\n", " "), "", "", width), "\n")
		}
		cmd.Long = strings.Join(paragraphs, "\n\n")
	}
}

// wrapExamples breaks comments between words, and commands before flags, where a shell goes on reading.
func wrapExamples(text string, width int) string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		if comment, is := strings.CutPrefix(line, "  # "); is {
			lines = append(lines, wrap(comment, "  # ", "  # ", width)...)
			continue
		}
		for len(line) > width {
			at := strings.LastIndex(line[:width-1], " -")
			if at <= len("    ") {
				break
			}
			lines, line = append(lines, line[:at]+" \\"), "    "+line[at:]
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}
