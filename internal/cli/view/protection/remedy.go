// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package protection

import (
	"fmt"

	"mapcontroller.dev/snapshotschedule/internal/cli/term"
)

// Remedy says what to do about a gap, with the command; empty if it is none.
func (c *ClaimCoverage) Remedy() string {
	advice, command := c.Fix()
	if advice == "" {
		return ""
	}
	return advice + ": " + command
}

// Fix says what to do about a gap, and the command that does it or begins with it; both are empty if it is none.
func (c *ClaimCoverage) Fix() (advice, command string) {
	in := "-n " + term.ShellWord(c.Namespace)
	switch {
	case !c.Gap:
		return "", ""
	case c.byRollback:
		return "run the rollback again to finish it, or undo it",
			fmt.Sprintf("%s rollback %s --pvc %s --undo", term.Name, in, term.ShellWord(c.Name))
	case len(c.Schedules) == 0:
		return "create a schedule that selects it, or have one select it", "kubectl edit snapshotschedules " + in
	case c.Protection == Skipped:
		return "see what keeps it from being snapshotted, or exclude it", fmt.Sprintf("kubectl describe pvc %s %s", in, term.ShellWord(c.Name))
	}
	return "see what is wrong with the schedule", fmt.Sprintf("%s status %s %s", term.Name, in, term.ShellWord(c.Schedules[0]))
}
