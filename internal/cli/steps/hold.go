// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"context"
	"fmt"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/cli/change"
	"mapcontroller.dev/snapshotschedule/internal/cli/holders"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
	"mapcontroller.dev/snapshotschedule/internal/schedule"
)

// Holding holds snapshots for a reason.
type Holding struct {
	Factory *term.Factory
	// Output is how the snapshots are printed; nil: what was done with them.
	Output    *term.Output
	Reason    string
	Overwrite bool
	// Named is set if the user has named the snapshots.
	Named    bool
	Now, End time.Time
}

// Unholdable returns why a snapshot cannot be held, or nil.
func Unholdable(v client.Object) error {
	_, kind := view.ResourceOf(v)
	switch {
	case v.GetDeletionTimestamp() != nil:
		return view.BeingDeleted(v)
	case backup.Uncut(v):
		return fmt.Errorf("%s %s is not cut yet: it has no data, and a hold could stop the backups of its PVC", kind, v.GetName())
	}
	return nil
}

// HoldOne holds a snapshot, and prints it.
func (h *Holding) HoldOne(ctx context.Context, v client.Object) error {
	resource, kind := view.ResourceOf(v)
	before, after, changed, err := h.Change(ctx, v, func(now holders.Holders) (holders.Holders, error) {
		if err := Unholdable(v); err != nil {
			return now, err
		}
		set := now.With
		if h.Overwrite {
			set = now.Shortened
		}
		return set(h.Reason, h.End, h.Now)
	})
	if err != nil {
		return err
	}
	if h.Named && v.GetLabels()[v1alpha1.LabelMapKey] == "" && backup.LabeledMember(v) == "" {
		h.Factory.Warn("%s %s is not a schedule's, so only schedules that adopt it respect the hold", kind, v.GetName())
	}
	what := "held"
	if !changed {
		what = "unchanged: held"
	}
	what += untilWords(after.Until(h.Reason))
	if !changed && h.End.Before(before.Until(h.Reason)) {
		what += " already (--overwrite shortens that)"
	}
	if others := HolderWords(after.Without(h.Reason)); others != "" {
		what += ", and by " + others
	}
	return h.Factory.Done(h.Output, v, resource, what)
}

// Change changes who holds a snapshot, with one patch, unless somebody else has changed it meanwhile. Nothing is written if
// the holders stay the same.
func (h *Holding) Change(
	ctx context.Context, v client.Object, to func(now holders.Holders) (holders.Holders, error),
) (before, after holders.Holders, changed bool, err error) {
	changed, err = Update(ctx, h.Factory, v, func() (_ []byte, err error) {
		before = holders.Of(v)
		if after, err = to(before); err != nil {
			return nil, fmt.Errorf("%s: %w", v.GetName(), err)
		}
		annotations := after.Changes(v)
		if annotations == nil {
			return nil, nil
		}
		return change.Annotate(v, annotations).Patch, nil
	})
	return before, after, changed, err
}

// EndOfHold returns when a hold ends, by the value of a flag.
func EndOfHold(flag, until string, now time.Time) (time.Time, error) {
	if until == "" {
		return holders.Forever, nil
	}
	end, err := time.Parse(time.RFC3339, until)
	if err != nil {
		d, err := schedule.ParseDuration(until)
		if err != nil {
			return end, fmt.Errorf("%s: %q is neither a time in RFC 3339 nor a duration such as 12h or 7d", flag, until)
		}
		end = now.Add(d)
	}
	if !end.After(now) {
		return end, fmt.Errorf("%s: %s is not in the future", flag, until)
	}
	return end.UTC(), nil
}

// untilWords say when a hold ends.
func untilWords(end time.Time) string {
	if end.Equal(holders.Forever) {
		return ""
	}
	return " until " + term.Timestamp(end)
}

// HolderWords say who holds a snapshot, and until when.
func HolderWords(h holders.Holders) string {
	var all []string
	for _, name := range h.Names() {
		all = append(all, fmt.Sprintf("%q", name)+untilWords(h.Until(name)))
	}
	if more := len(all) - term.Listed; more > 0 {
		all = append(all[:term.Listed], fmt.Sprintf("%d more", more))
	}
	return strings.Join(all, ", ")
}
