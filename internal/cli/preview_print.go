// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"io"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// found returns whether --fail-on-delete has found something.
func (p *preview) found() bool {
	if p.Change == unchanged {
		return len(p.Deletes) > 0
	}
	return p.sooner() > 0
}

func (p *preview) sooner() int {
	n := 0
	for i := range p.Deletes {
		if p.Deletes[i].Sooner {
			n++
		}
	}
	return n
}

// warn adds what a user should know before making the change.
func (p *preview) warn(v variants, driverLimit int) {
	future := v.future
	if future == nil {
		switch {
		case len(p.Deletes) > 0 && v.present.Spec.DeletionPolicy == v1alpha1.DeletionOrphan:
			p.Warnings = append(p.Warnings, fmt.Sprintf("the operator is still removing owner references: wait until "+
				"status.observedGeneration is %d", v.present.Generation))
		case len(p.Deletes) > 0:
			p.Warnings = append(p.Warnings, "held snapshots are deleted with the schedule, too; "+
				"to keep all, set deletionPolicy: Orphan first and wait until it is observed")
		}
		return
	}
	for _, w := range p.Waiting {
		if w.Until == nil {
			p.Warnings = append(p.Warnings, fmt.Sprintf("%s would be deleted at once, and would be kept, because the spec is "+
				"not that of the template of ClusterSnapshotSchedule %s", plural(w.Snapshots, "snapshot"), future.Name))
			continue
		}
		why := "the spec changes (spec.retention.editDelay)"
		if w.Reason == v1alpha1.ReasonSnapshotsAdopted {
			why = "they are older than the schedule"
		}
		if w.confirmation != "" {
			why += ": " + w.confirmation
		}
		p.Warnings = append(p.Warnings, fmt.Sprintf("%s would be deleted at once, and would wait until %s, because %s",
			plural(w.Snapshots, "snapshot"), timestamp(w.Until.Time), why))
	}
	if p.Steady.Unlimited {
		p.Warnings = append(p.Warnings,
			"the number of snapshots per PVC grows without limit: set snapshotTTL, retention.keep or retention.maxCount")
	}
	if driverLimit > 0 && (p.Steady.Unlimited || p.Steady.Snapshots+1 > driverLimit) {
		p.Warnings = append(p.Warnings, fmt.Sprintf("the steady state exceeds the driver's limit of %s per volume: %s, and one more while a "+
			"new one is taken", plural(driverLimit, "snapshot"), p.Steady.words()))
	}
	if future.Spec.Suspend {
		p.Warnings = append(p.Warnings, "the schedule is suspended: no snapshots are taken, and retention continues")
	}
	if p.Incomplete {
		p.Warnings = append(p.Warnings, "the simulation ended early, because it would take too long: use a shorter --within")
	}
}

func (s *steadyState) words() string {
	switch {
	case s.Unlimited:
		return "no limit"
	case s.Estimated:
		return fmt.Sprintf("at most about %s per PVC", plural(s.Snapshots, "snapshot"))
	}
	return fmt.Sprintf("at most %s per PVC", plural(s.Snapshots, "snapshot"))
}

// listed is how many deletes, and how many PVCs of a wait, are listed.
const listed = 10

func printPreviews(w io.Writer, output *Output, all []*preview, now time.Time, within string) error {
	if output.Structured() {
		return output.PrintStructured(w, map[string]any{"items": all})
	}
	for i, p := range all {
		if output.Format == Names {
			for _, d := range p.Deletes {
				fmt.Fprintln(w, "volumesnapshot.snapshot.storage.k8s.io/"+d.Name)
			}
			continue
		}
		if i > 0 {
			fmt.Fprintln(w)
		}
		if err := p.print(w, output, now, within); err != nil {
			return err
		}
	}
	return nil
}

func (p *preview) print(w io.Writer, output *Output, now time.Time, within string) error {
	style := StyleOf(w)
	p.printHeading(w, style)
	if len(p.Claims) > 0 {
		fmt.Fprintln(w)
		if err := output.PrintTable(w, p.claimTable(within)); err != nil {
			return err
		}
	}
	if shown := p.listed(output); len(shown) > 0 {
		fmt.Fprintln(w)
		if err := output.PrintTable(w, p.deleteTable(shown, now)); err != nil {
			return err
		}
		if more := len(p.Deletes) - len(shown); more > 0 {
			fmt.Fprintf(w, "… and %d more; -o wide lists all.\n", more)
		}
	}
	fmt.Fprintln(w)
	say(w, p.conclusion(style, within))
	if p.Steady != nil {
		say(w, "Steady state: "+p.Steady.words()+p.Steady.fillWords()+".")
	}
	for _, warning := range p.Warnings {
		say(w, style.Warn("Warning")+": "+warning+".")
	}
	return nil
}

// listed returns the deletes to list: the first ones that the change causes or, if
// there is no change, the first ones.
func (p *preview) listed(output *Output) []deletion {
	if output.Format == Wide {
		return p.Deletes
	}
	var shown []deletion
	for _, d := range p.Deletes {
		if len(shown) < listed && (d.Sooner || p.Change == unchanged) {
			shown = append(shown, d)
		}
	}
	return shown
}

func (p *preview) printHeading(w io.Writer, style Style) {
	name := style.Bold(p.Namespace + "/" + p.Name)
	switch p.Change {
	case unchanged:
		say(w, name+" as it is: "+p.Present)
	case created:
		say(w, name+" would be created: "+p.Future)
	case deleted:
		say(w, name+" would be deleted: "+p.Present)
	default:
		say(w, name+" would change")
		say(w, "  from  "+p.Present)
		say(w, "  to    "+p.Future)
	}
}

// claimTable compares the PVCs. The columns say which policy they are about.
func (p *preview) claimTable(within string) *Table {
	table := NewTable("PVC", "SELECTED", "SNAPSHOTS", "DELETED NOW", "WITHIN "+within, "AT PRESENT", "+MAP KEY")
	for _, c := range p.Claims {
		selected := selectionWords(c.Before == stateSelected, c.After == stateSelected)
		table.Row(c.Name, selected, c.Snapshots, c.Now, c.Within, c.Otherwise, c.MapKey)
	}
	return table
}

func selectionWords(before, after bool) string {
	switch {
	case before && after:
		return "yes"
	case after:
		return "yes (added)"
	case before:
		return "no (removed)"
	}
	return "no"
}

func (p *preview) deleteTable(shown []deletion, now time.Time) *Table {
	table := NewTable("SNAPSHOT", "+PVC", "DELETED", "REASON", "AT PRESENT")
	for _, d := range shown {
		present := "kept"
		if d.PresentTime != nil {
			present = until(now, d.PresentTime.Time)
		}
		table.Row(d.Name, d.Claim, until(now, d.Time.Time), d.Reason, present)
	}
	return table
}

func (p *preview) conclusion(style Style, within string) string {
	immediately := 0
	for i := range p.Deletes {
		if p.Deletes[i].Now {
			immediately++
		}
	}
	total := 0
	for _, c := range p.Claims {
		total += c.Snapshots
	}
	text := fmt.Sprintf("Of %s, %d would be deleted now and %d within %s",
		plural(total, "existing snapshot"), immediately, len(p.Deletes), within)
	switch sooner := p.sooner(); {
	case p.Change == unchanged:
		return text + "."
	case sooner > 0:
		return text + style.Bad(fmt.Sprintf("; %d sooner than at present.", sooner))
	}
	return text + style.Good("; none sooner than at present.")
}

// fillWords say how long it takes until the TTL and the tiers are full.
func (s *steadyState) fillWords() string {
	var words []string
	for _, f := range s.Fills {
		words = append(words, fmt.Sprintf("%s is full after %s", f.Field, duration.HumanDuration(f.After.Duration)))
	}
	if len(words) == 0 {
		return ""
	}
	return "; " + strings.Join(words, ", ")
}
