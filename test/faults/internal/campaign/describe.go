// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package campaign

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/history"
)

// maxEvents is the number of events that describe prints.
const maxEvents = 60

// describe returns the result of a run as text: the verdict, how to repeat the plan,
// and the end of the history.
func (c *Campaign) describe(r result) string {
	var b strings.Builder
	line := func(format string, args ...any) { _, _ = fmt.Fprintf(&b, format+"\n", args...) }
	verdict := "passed"
	switch {
	case r.failed():
		verdict = "FAILED"
	case len(r.Missed) > 0:
		verdict = "missed"
	}
	line("%s %s (%s)", verdict, r.Plan.ID, r.Took.Round(time.Millisecond))
	for _, f := range r.Missed {
		line("  point not reached: %s", f)
	}
	if r.Err != nil {
		line("  cannot be judged: %v", r.Err)
	}
	for _, v := range r.Violations {
		line("  %s violated: %s", v.Oracle, v.Message)
	}
	line("  repeat: %s", repeatCommand(r.Plan, c.Seed))
	if r.history != nil {
		events := timeline(r.history, r.nicknames)
		line("  last %d of %d events:", min(maxEvents, len(events)), len(events))
		for _, e := range events[max(0, len(events)-maxEvents):] {
			line("    %s", e)
		}
	}
	if r.log != "" {
		line("  %s", strings.ReplaceAll(r.log, "\n", "\n  "))
	}
	return strings.TrimRight(b.String(), "\n ")
}

// timeline returns requests, changes and windows in order of time.
func timeline(h *history.History, nicknames map[string]string) []string {
	type event struct {
		at   time.Time
		text string
	}
	nameOf := func(name string) string {
		if nick, ok := nicknames[name]; ok {
			return nick
		}
		return name
	}
	var all []event
	for i, r := range h.Requests {
		if r.Resource != "" {
			all = append(all, event{r.At, fmt.Sprintf("#%d p%d %s %s %s → %s", i, r.Process, r.Verb, r.Resource, nameOf(r.Name), answerText(r))})
		}
	}
	for _, c := range h.Changes {
		all = append(all, event{c.At, changeText(c, nameOf)})
	}
	for _, w := range h.Windows {
		if w.Kind == history.Unsynced && w.Until.IsZero() {
			w.Until = h.Ended
		}
		all = append(all, event{w.From, fmt.Sprintf("-- %s begins (process %d) %s", w.Kind, w.Process, w.Object)})
		if !w.Until.IsZero() {
			all = append(all, event{w.Until, fmt.Sprintf("-- %s ends (process %d)", w.Kind, w.Process)})
		}
	}
	slices.SortStableFunc(all, func(a, b event) int { return a.at.Compare(b.at) })
	lines := make([]string, len(all))
	for i, e := range all {
		lines[i] = fmt.Sprintf("%+8.3fs %s", e.at.Sub(h.Began).Seconds(), e.text)
	}
	return lines
}

func answerText(r history.Request) string {
	switch {
	case !r.Reached && r.Seen == 0:
		return "not sent"
	case !r.Reached:
		return fmt.Sprintf("%d (injected)", r.Seen)
	case r.Seen == r.Code:
		return fmt.Sprint(r.Code)
	case r.Seen == 0:
		return fmt.Sprintf("%d, not delivered", r.Code)
	}
	return fmt.Sprintf("%d, delivered as %d", r.Code, r.Seen)
}

func changeText(c history.Change, nameOf func(string) string) string {
	by := "others"
	if c.Request >= 0 {
		by = fmt.Sprintf("#%d", c.Request)
	}
	o, what := c.After, "changed"
	switch {
	case c.After == nil:
		o, what = c.Before, "deleted"
	case c.Before == nil:
		what = "created"
	case c.After.GetDeletionTimestamp() != nil && c.Before.GetDeletionTimestamp() == nil:
		what = "marked for deletion"
	}
	kind := strings.TrimLeft(fmt.Sprintf("%T", o), "*v1alph.")
	return fmt.Sprintf("== %s %s %s by %s (rv %d)", kind, nameOf(o.GetName()), what, by, c.Revision)
}
