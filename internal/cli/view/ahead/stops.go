// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package ahead

import (
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// notSelected is why no snapshots are taken of a PVC that a change no longer selects.
const notSelected = "no longer selected"

// stops returns why no snapshot of a selected series is taken, beside what passes by itself: it is not Bound, or is being
// deleted. It is empty if one may be taken.
func stops(d *snapshots.Judgment) string {
	for _, p := range d.Problems {
		if view.KindsOfProblems[p.Reason].Refuses {
			return strings.TrimPrefix(p.String(), p.Claim+": ")
		}
	}
	if d.SkipReason.NotSnapshottable() {
		return string(d.SkipReason)
	}
	return ""
}

// takes returns the slot for which a judgment takes a snapshot; zero if it takes none.
func takes(d *snapshots.Judgment) time.Time {
	if len(d.Create) == 0 {
		return time.Time{}
	}
	return d.Slots.Current
}

// addUnselected says of which PVCs no snapshots are taken any more because the change does not select them. One that is selected
// as part of another series, such as of a group, is no such PVC.
func (p *Preview) addUnselected(all []*view.Series) {
	selected := sets.New[string]()
	for i, of := range all {
		if p.Claims[i].After == view.StateSelected {
			for _, claim := range of.Judged().Claims {
				selected.Insert(claim.Name)
			}
		}
	}
	for i, of := range all {
		c := &p.Claims[i]
		if c.Before != view.StateSelected || c.After == view.StateSelected || p.Change == Deleted {
			continue
		}
		for _, claim := range of.Judged().Claims {
			if !selected.Has(claim.Name) {
				c.Stops = notSelected
			}
		}
	}
}

// Gaps returns whether --fail-on-gaps has found something: a PVC of which no snapshots would be taken, a schedule that takes none
// of any, or a snapshot that the edit has taken at once.
func (p *Preview) Gaps() bool {
	if p.Change == Deleted {
		return false
	}
	return !slices.ContainsFunc(p.Claims, func(c claimChange) bool { return c.After == view.StateSelected }) ||
		slices.ContainsFunc(p.Claims, func(c claimChange) bool { return c.Stops != "" }) || p.takesAtOnce()
}

// takesAtOnce returns whether an edit has snapshots taken at once, for slots that have passed. A new schedule always does.
func (p *Preview) takesAtOnce() bool { return p.TakenNow > 0 && p.Change == Edited }

// WarnOfStops says what would stop, as loudly as what would be Deleted.
func (p *Preview) WarnOfStops(v Variants, say func(format string, args ...any)) {
	if !slices.ContainsFunc(p.Claims, func(c claimChange) bool { return c.After == view.StateSelected }) {
		say("no PVC of namespace %s is selected%s: no snapshots are taken", p.Namespace, byLabels(&v.Future.Spec))
	}
	count := map[string]int{}
	for _, c := range p.Claims {
		if c.Stops != "" {
			count[c.Stops]++
		}
	}
	for _, why := range slices.Sorted(maps.Keys(count)) {
		say("no snapshots would be taken of %s: %s", term.Plural(count[why], "PVC"), why)
	}
	if p.takesAtOnce() {
		say("%s would be taken at once, for slots that have passed (the latest at %s)",
			term.Plural(p.TakenNow, "snapshot"), term.Timestamp(p.latestSlot))
	}
}

func byLabels(spec *v1alpha1.SnapshotScheduleSpec) string {
	if selector, err := spec.Selector.AsSelector(); err == nil && !selector.Empty() {
		return " by " + selector.String()
	}
	return ""
}
