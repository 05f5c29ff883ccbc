// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package list

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
	"mapcontroller.dev/snapshotschedule/internal/cli/view/ahead"
	"mapcontroller.dev/snapshotschedule/internal/retention"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// row is a snapshot.
type row struct {
	Kind      string   `json:"kind"`
	Namespace string   `json:"namespace"`
	Name      string   `json:"name"`
	Claims    []string `json:"persistentVolumeClaims"`
	// Time is that of its slot, or of its creation if it has none.
	Time     metav1.Time `json:"time"`
	State    string      `json:"state"`
	Size     string      `json:"restoreSize,omitempty"`
	Schedule string      `json:"schedule,omitempty"`
	// Rule keeps it, or has it deleted; Because says so in words. Without a rule, no schedule decides about it.
	Rule    string `json:"rule,omitempty"`
	Because string `json:"because"`
	// Until is when it is deleted; not set if time alone does not delete it. AtLeast is set instead if more was not computed.
	Until   *metav1.Time `json:"keptUntil,omitempty"`
	AtLeast *metav1.Time `json:"keptAtLeastUntil,omitempty"`
	// Hold is what the hold annotation says, if it is held.
	Hold     string       `json:"hold,omitempty"`
	Verified *metav1.Time `json:"verifiedTime,omitempty"`
	// Drill says how the last drill ended.
	Drill    string `json:"drill,omitempty"`
	resource string
	labels   labels.Set
}

// work bounds what the rows of a namespace may cost: about half a second.
const work = ahead.MaxWork / 8

// read returns the snapshots of a schedule, or of all, the newest first.
func read(ctx context.Context, f *term.Factory, scope *term.Scope, name string, now time.Time) ([]row, error) {
	selector, err := labels.Parse(scope.Selector)
	if err != nil {
		return nil, err
	}
	namespace, opts := scope.Namespace(f), []client.ListOption(nil)
	var schedules []*v1alpha1.SnapshotSchedule
	if name == "" {
		schedules, err = view.ReadSchedules(ctx, f, namespace, "")
	} else {
		var one *v1alpha1.SnapshotSchedule
		one, err = view.ReadSchedule(ctx, f, name)
		schedules, opts = []*v1alpha1.SnapshotSchedule{one}, append(opts, view.OfSchedule(name))
	}
	if err != nil {
		return nil, err
	}
	inv, err := view.ReadInventory(ctx, f, namespace, labels.Everything(), opts...)
	if err != nil {
		return nil, err
	}
	if inv.Origins, err = view.ReadOrigins(ctx, f, schedules); err != nil {
		return nil, err
	}
	rows := rowsOf(inv, schedules, now, work) // of all: what a snapshot is kept for depends on the others of its PVC
	return slices.DeleteFunc(rows, func(r row) bool { return !selector.Matches(r.labels) }), nil
}

// rowsOf returns the rows of what was read, within an amount of work.
func rowsOf(inv *view.Inventory, schedules []*v1alpha1.SnapshotSchedule, now time.Time, work int) []row {
	decided, exists := map[types.UID]*row{}, map[client.ObjectKey]bool{}
	for _, s := range schedules {
		exists[client.ObjectKeyFromObject(s)] = true
	}
	shares := ahead.Shares(inv, schedules, work)
	for _, s := range schedules {
		judge, all, err := inv.Judged(snapshots.Recorded(s, now, inv.Origins.Of(s)...), now)
		if err != nil {
			continue // it keeps them all, and its row says so
		}
		for of, d := range all {
			for i, r := range decidedRows(judge, of, d, now, shares[s.Namespace]) {
				r.Schedule = s.Name
				decided[d.Outputs[i].GetUID()] = r
			}
		}
	}
	var rows []row
	for _, byNamespace := range []map[string][]client.Object{inv.Snapshots, inv.Groups} {
		for _, namespace := range slices.Sorted(maps.Keys(byNamespace)) {
			for _, v := range byNamespace[namespace] {
				r := decided[v.GetUID()]
				if r == nil {
					r = undecided(v, exists, now)
				}
				rows = append(rows, *r)
			}
		}
	}
	slices.SortStableFunc(rows, func(a, b row) int {
		return cmp.Or(b.Time.Compare(a.Time.Time), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return rows
}

// rowOf returns what a snapshot says of itself.
func rowOf(v client.Object, now time.Time) *row {
	s := backup.Of(v)
	resource, kind := view.ResourceOf(v)
	r := &row{
		Kind: kind, Namespace: v.GetNamespace(), Name: v.GetName(), Claims: claimsOf(v), Time: metav1.NewTime(s.Slot(now).UTC()),
		State: backup.StateOf(v, now, view.DefaultReadyDeadline).String(), Size: backup.SizeText(v), resource: resource, labels: v.GetLabels(),
		Drill: backup.DrillWords(v, now),
	}
	if at, verified := s.Drill(now); verified {
		r.Verified = term.TimeOf(at)
	}
	if end, held := backup.HeldUntil(v); held && end.After(now) {
		text, _ := backup.HoldText(v)
		r.Hold = view.HeldWords(text, end)
	}
	return r
}

// claimsOf returns the names of the PVCs that a snapshot is of.
func claimsOf(v client.Object) []string {
	if name := backup.ClaimName(v); name != "" {
		return []string{name}
	}
	return slices.Sorted(maps.Keys(backup.ClaimsOf(v)))
}

// decidedRows returns the rows of a series, in the order of its outputs.
func decidedRows(judge *snapshots.Judge, of *view.Series, d *snapshots.Judgment, now time.Time, work int) []*row {
	rows, ends := make([]*row, len(d.Outputs)), ahead.ForecastOf(judge, of, now, now.Add(ahead.MaxAhead), work)
	for i, v := range d.Outputs {
		s, verdict := &d.Series.Snapshots[i], d.Retention.Verdicts[i]
		r := rowOf(v, now)
		r.State = s.State(now, judge.ReadyDeadline()).String()
		r.Rule, r.Because = verdict.String(), view.Explain(verdict)
		if reason := d.KeptFor[i]; reason != "" {
			r.Rule, r.Because = reason, view.DelayedWords(reason, judge.KeptUntil(reason), verdict)
		}
		switch end, ended := ends.Ends[v.GetName()]; {
		case ended:
			r.Until = term.TimeOf(end.At)
		case ends.Incomplete && s.HeldUntil.Before(retention.Forever):
			r.AtLeast = term.TimeOf(ends.Until)
		}
		rows[i] = r
	}
	return rows
}

// undecided is the row of a snapshot about which no schedule decides.
func undecided(v client.Object, exists map[client.ObjectKey]bool, now time.Time) *row {
	r := rowOf(v, now)
	r.Because = view.Unmanaged(v)
	if name := v.GetLabels()[v1alpha1.LabelSchedule]; r.Because == "" {
		switch r.Schedule = name; {
		case !exists[client.ObjectKey{Namespace: v.GetNamespace(), Name: name}]:
			r.Because = "its schedule " + name + " does not exist; a new one of this name would adopt it"
		default:
			r.Because = "its schedule " + name + " does not own it, or is invalid"
		}
	}
	return r
}

// untilWords say until when it is kept.
func (r *row) untilWords(now time.Time) string {
	switch {
	case r.Until != nil:
		return term.Until(now, r.Until.Time)
	case r.AtLeast != nil:
		return ">" + term.Until(now, r.AtLeast.Time)
	}
	return ""
}

// note is what else matters.
func (r *row) note(now time.Time) string {
	var notes []string
	if r.Hold != "" {
		notes = append(notes, strings.TrimPrefix(r.Hold, "it is "))
	}
	switch {
	case r.Verified != nil:
		notes = append(notes, "verified "+term.Age(now, r.Verified.Time)+" ago")
	case r.Drill != "":
		notes = append(notes, r.Drill)
	}
	if r.Rule == "" {
		notes = append(notes, r.Because)
	}
	return strings.Join(notes, "; ")
}
