// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"mapcontroller.dev/snapshotschedule/internal/cli/term"
)

func printAll(w io.Writer, output *term.Output, all []*result) error {
	if output.Structured() {
		return output.PrintStructured(w, map[string]any{"items": all})
	}
	for i, r := range all {
		if i > 0 {
			fmt.Fprintln(w)
		}
		if err := r.print(w, output); err != nil {
			return err
		}
	}
	return nil
}

// print prints a simulation for people.
func (r *result) print(w io.Writer, output *term.Output) error {
	style, until := term.StyleOf(w), r.Until.Time
	r.timeline.Draw(w, style, term.WidthOf(w), until)
	fmt.Fprintf(w, "\nAs of %s, after %s.\n", term.Timestamp(until), duration.HumanDuration(until.Sub(r.From.Time)))
	if r.Incomplete {
		term.Say(w, style.Warn("It ends there: a longer simulation would take too long. Shorten --for, or simulate fewer PVCs."))
	}
	fmt.Fprintln(w)
	if err := output.PrintTable(w, r.claimTable()); err != nil {
		return err
	}
	fmt.Fprintln(w)
	if err := output.PrintTable(w, term.TableOf(r.Samples,
		term.Col("AFTER", func(s *sample) any { return string(s.After) }),
		term.Col("SNAPSHOTS", func(s *sample) any { return s.Snapshots }),
		term.Col("OLDEST", func(s *sample) any { return ageOf(s.Oldest) }),
		term.Col("RECOVERY POINT", func(s *sample) any { return ageOf(s.Newest) }))); err != nil {
		return err
	}
	var kept []string
	for _, rule := range slices.Sorted(maps.Keys(r.Kept)) {
		kept = append(kept, fmt.Sprintf("%s %d", rule, r.Kept[rule]))
	}
	fmt.Fprintln(w)
	if len(kept) > 0 {
		term.Say(w, "Kept at the end by rule: "+strings.Join(kept, ", ")+".")
	}
	for _, l := range r.Limits {
		since := ""
		if l.Time != nil {
			since = ", broken after " + duration.HumanDuration(l.Time.Sub(r.From.Time))
		}
		term.Say(w, style.Warn("Limit")+fmt.Sprintf(" of %s (%s): %s%s.", l.Storage, l.Driver, l.Limit, since))
	}
	for _, p := range r.Problems {
		term.Say(w, style.Warn("Problem")+fmt.Sprintf(" after %s: %s", duration.HumanDuration(p.Time.Sub(r.From.Time)), p.Message))
	}
	return nil
}

func (r *result) claimTable() *term.Table {
	end := r.Until.Time
	return term.TableOf(r.Claims,
		term.Col("PVC", func(c *pvc) any { return c.Name }),
		term.Col("AT MOST", func(c *pvc) any { return c.AtMost }),
		term.Col("AT THE END", func(c *pvc) any { return c.AtEnd }),
		term.Col("TAKEN", func(c *pvc) any { return c.Taken }),
		term.Col("OLDEST", func(c *pvc) any { return term.Age(end, term.ValueOf(c.Oldest)) }),
		term.Col("RECOVERY POINT AT WORST", func(c *pvc) any { return c.worst(&r.From) }))
}

// worst says how old the recovery point was at most, and when.
func (c *pvc) worst(from *metav1.Time) string {
	if c.BehindAt == nil {
		return ""
	}
	return fmt.Sprintf("%s old, after %s", ageOf(c.Behind), duration.HumanDuration(c.BehindAt.Sub(from.Time)))
}

func ageOf(seconds int64) string { return duration.HumanDuration(time.Duration(seconds) * time.Second) }
