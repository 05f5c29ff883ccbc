// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"fmt"
	"time"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/history"
)

// S7: nothing is deleted under an invalid spec, from a cache that has not synced, with a skewed clock, while the schedule is being
// deleted, or while a delay protects it (delay.go).
func S7(h *history.History) []Violation {
	var found []Violation
	delays := delaysOf(h)
	eachDeletion(h, func(d deletion, st *state) {
		if seriesOf(d.snapshot).schedule == "" {
			return // S1
		}
		views := d.views(h, st)
		for _, why := range []string{scheduleForbids(views), d.unsynced(h), d.skewed(h), d.delayed(h, views, delays)} {
			if why != "" {
				found = append(found, d.violation("S7", " %s", why))
			}
		}
	})
	return found
}

// scheduleForbids returns why the schedule forbade deletes throughout the guards' window, empty if at some moment it did not.
func scheduleForbids(views []*view) string {
	why := ""
	for _, v := range views {
		switch {
		case v.schedule == nil:
			why = "although its schedule was gone"
			continue
		case v.schedule.DeletionTimestamp != nil:
			why = "while its schedule was being deleted"
			continue
		}
		if _, err := ReadSpec(&v.schedule.Spec); err != nil {
			why = fmt.Sprintf("under an invalid spec: %v", err)
			continue
		}
		return ""
	}
	return why
}

func (d deletion) unsynced(h *history.History) string {
	for _, w := range h.Windows {
		if w.Kind == history.Unsynced && d.within(w) && w.Holds(d.sent()) {
			return "by an operator whose caches had not synced"
		}
	}
	return ""
}

// skewed judges by the last Date that the guards were shown, and by what the run did to the clocks meanwhile.
func (d deletion) skewed(h *history.History) string {
	guardsBegan, evidence := d.guardsBegan(h), d.evidence(h)
	for _, w := range h.Windows {
		if w.Kind == history.Skewed && d.within(w) && w.Holds(guardsBegan) && w.Holds(d.sent()) {
			return "while the clocks differed by more than is allowed"
		}
	}
	for _, r := range evidence {
		if r.Date.IsZero() {
			continue
		}
		clock := r.Clock
		if clock.IsZero() {
			clock = r.At
		}
		// A Date is in whole seconds, and an answer takes time.
		if by := r.Date.Sub(clock).Abs(); by > maxSkew+recordingSlack {
			return fmt.Sprintf("although the clocks were %s apart", by.Round(time.Second))
		}
		return ""
	}
	return ""
}

func (d deletion) within(w history.Window) bool {
	return w.Process < 0 || w.Process == d.request.Process
}

func (d deletion) sent() time.Time {
	if d.request.At.IsZero() {
		return d.at
	}
	return d.request.At
}
