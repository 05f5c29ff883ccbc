// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package show

import (
	"fmt"
	"strings"
	"time"

	"mapcontroller.dev/snapshotschedule/hack/demo/internal/check"
)

// Act announces an act.
func (s *Screen) Act(number int, title string) {
	s.Print("\n%s", s.Bold(fmt.Sprintf("%d. %s", number, title)))
}

// Say tells something in plain words.
func (s *Screen) Say(format string, args ...any) {
	s.Print("%s", Indent(fmt.Sprintf(format, args...), "   "))
}

// Command shows a command that the demo runs, as a person would type it.
func (s *Screen) Command(args ...string) { s.Print("   %s", s.Bold("$ "+strings.Join(args, " "))) }

// Output shows what a command or a file says.
func (s *Screen) Output(text string) {
	if text = strings.TrimRight(text, "\n"); text != "" {
		s.Print("%s", Indent(text, "     "))
	}
}

// Done says that a step that took a while is done.
func (s *Screen) Done(what string, took time.Duration) {
	s.Print("   %s %s %s", s.Green("✓"), what, s.Faint("("+Elapsed(took)+")"))
}

// Check shows the outcome of a check.
func (s *Screen) Check(r check.Result) {
	if r.OK {
		s.Print("   %s %s %s", s.Green("✓"), r.Expected, s.Faint("("+r.Seen+")"))
		return
	}
	s.Print("   %s", s.Red("✗ failed: "+r.Name))
	s.Print("     expected: %s", r.Expected)
	s.Print("     seen:     %s", r.Seen)
}

// Indent puts something before each line that is not empty.
func Indent(text, with string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if line != "" {
			lines[i] = with + line
		}
	}
	return strings.Join(lines, "\n")
}

// Elapsed writes a duration as people say it: 0.4s, 12s, 1m12s.
func Elapsed(d time.Duration) string {
	if d < 10*time.Second {
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return d.Round(time.Second).String()
}
