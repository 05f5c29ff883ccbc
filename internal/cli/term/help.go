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

// WrapHelp fits the help of all commands to a width: the descriptions of flags, and the paragraphs of the long texts.
func WrapHelp(root *cobra.Command, width int) {
	width = min(max(width, narrowestHelp), widestHelp)
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages ", fmt.Sprintf(".FlagUsagesWrapped %d ", width)))
	for _, cmd := range append(root.Commands(), root) {
		paragraphs := strings.Split(cmd.Long, "\n\n")
		for i, text := range paragraphs {
			paragraphs[i] = strings.Join(wrap(text, "", "", width), "\n")
		}
		cmd.Long = strings.Join(paragraphs, "\n\n")
	}
}
