// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package protection

import (
	"fmt"

	"mapcontroller.dev/snapshotschedule/internal/cli/term"
)

// Remedy says what to do about a gap, with the command; empty if it is none.
func (c *ClaimCoverage) Remedy() string {
	in := "-n " + term.ShellWord(c.Namespace)
	switch {
	case !c.Gap:
		return ""
	case c.byRollback:
		return fmt.Sprintf("run the rollback again to finish it, or undo it: %s rollback %s --pvc %s --undo",
			term.Name, in, term.ShellWord(c.Name))
	case len(c.Schedules) == 0:
		return fmt.Sprintf("create a schedule that selects it, or have one select it: kubectl edit snapshotschedules %s", in)
	case c.Protection == Skipped:
		return fmt.Sprintf("see what keeps it from being snapshotted, or exclude it: kubectl describe pvc %s %s", in, term.ShellWord(c.Name))
	}
	return fmt.Sprintf("see what is wrong with the schedule: %s status %s %s", term.Name, in, term.ShellWord(c.Schedules[0]))
}
