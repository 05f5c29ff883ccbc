// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/retention"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// scheduleStatus is the state of one schedule.
type scheduleStatus struct {
	Namespace              string             `json:"namespace"`
	Name                   string             `json:"name"`
	Policy                 string             `json:"policy"`
	InvalidSpec            string             `json:"invalidSpec,omitempty"`
	Conditions             []metav1.Condition `json:"conditions,omitempty"`
	Observed               bool               `json:"observed"`
	Problems               []problem          `json:"problems,omitempty"`
	PersistentVolumeClaims []claimStatus      `json:"persistentVolumeClaims"`
	// now is when it was judged.
	now time.Time
	// unanswered are slots without a snapshot, silent is for how long the operator has shown no sign of life, and
	// operatorNamespace is where it is, as far as that is known.
	unanswered        []unanswered
	silent            time.Duration
	operatorNamespace string
	// noMatch says why no PVC is selected.
	noMatch string
}

// claimStatus is the state of one series.
type claimStatus struct {
	Name string `json:"name"`
	// Group is the group of a PVC that is snapshotted together with others.
	Group           string       `json:"group,omitempty"`
	MapKey          string       `json:"mapKey"`
	State           string       `json:"state"`
	NewestReady     string       `json:"newestReady,omitempty"`
	NewestReadyTime *metav1.Time `json:"newestReadyTime,omitempty"`
	// VerifiedTime is the last success of a drill.
	VerifiedTime *metav1.Time `json:"verifiedTime,omitempty"`
	// NextSnapshotTime is the next slot; the current one if it has no snapshot yet.
	NextSnapshotTime *metav1.Time `json:"nextSnapshotTime,omitempty"`
	Snapshots        int          `json:"snapshots"`
	Ready            int          `json:"ready"`
	Skipped          string       `json:"skipped,omitempty"`
	// Protection of a selected PVC by this schedule, as in coverage, and why.
	Protection protection `json:"protection,omitempty"`
	Reason     string     `json:"reason,omitempty"`
	// Undecided says why it is not known whether the PVC is skipped.
	Undecided string    `json:"undecided,omitempty"`
	Problems  []problem `json:"problems,omitempty"`
	gap       bool
	// lacks has the group snapshots of its group without data of it.
	lacks map[string]bool
}

func newStatusCommand(f *term.Factory) *cobra.Command {
	var scope term.Scope
	var output term.Output
	cmd := &cobra.Command{
		Use:     "status [NAME]",
		GroupID: term.GroupShow,
		Short:   "Show each PVC's newest ready snapshot, next slot and problems",
		Long: "Show, for each PVC of the schedules, its newest ready snapshot, the next slot, the number of\n" +
			"snapshots and what is wrong; and the conditions of each schedule in words.",
		Example: `  # All schedules of the namespace
  kubectl snapsched status

  # One schedule
  kubectl snapsched status nightly -n shop

  # The names of PVCs with a problem, in all namespaces
  kubectl snapsched status -A -o json | jq -r '.items[].persistentVolumeClaims[] | select(.problems) | .name'`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: term.CompleteOne(f.CompleteSchedules()),
		RunE: f.Connected(func(ctx context.Context, args []string) error {
			found, inv, err := readSelected(ctx, &scope, f, args)
			if err != nil {
				return err
			}
			all := make([]scheduleStatus, len(found))
			var pointers []*scheduleStatus
			for i, s := range found {
				all[i] = statusOf(s, inv, f.Clock.Now())
				pointers = append(pointers, &all[i])
			}
			findLife(ctx, f, pointers)
			if len(all) == 0 && !output.Structured() && output.Format != term.Names {
				scope.SayNothingFound(f)
				return nil
			}
			return printStatus(f.Out, &output, all, f.Clock.Now())
		}),
	}
	scope.AddFlags(cmd, "schedules")
	output.AddFlags(cmd, true, term.JSON, term.YAML, term.Names, term.Wide)
	return cmd
}

// readSelected reads the schedule of the arguments, or all of the scope, with what they select
// and own.
func readSelected(ctx context.Context, s *term.Scope, f *term.Factory, args []string) ([]*v1alpha1.SnapshotSchedule, *inventory, error) {
	if len(args) > 0 {
		if s.AllNamespaces || s.Selector != "" {
			return nil, nil, fmt.Errorf("a name cannot be combined with --all-namespaces or --selector")
		}
		one, inv, err := readOf(ctx, f, args[0])
		return []*v1alpha1.SnapshotSchedule{one}, inv, err
	}
	found, err := readSchedules(ctx, f, s.Namespace(f), s.Selector)
	if err != nil || len(found) == 0 {
		return nil, nil, err
	}
	inv, err := readInventory(ctx, f, s.Namespace(f), labels.Everything(), managed)
	if err == nil {
		inv.origins, err = readOrigins(ctx, f, found)
	}
	return found, inv, err
}

func statusOf(s *v1alpha1.SnapshotSchedule, inv *inventory, now time.Time) scheduleStatus {
	status := scheduleStatus{
		Namespace: s.Namespace, Name: s.Name, Policy: policyWords(&inv.origins.decided(s).Spec),
		Conditions: s.Status.Conditions, Observed: s.Status.ObservedGeneration == s.Generation,
		PersistentVolumeClaims: []claimStatus{}, now: now,
	}
	status.addOwnProblems(s)
	judge, all, err := inv.judged(s, now)
	if err != nil {
		status.InvalidSpec = err.Error()
		return status
	}
	for of, d := range all {
		row := claimStatusOf(of, d, now)
		row.State = of.state(judge)
		row.Problems = problemsOf(s, row.Name, d.Group, row.State, d.Problems)
		noSnapshot := row.State == stateSelected && row.Snapshots == 0 && refusalOf(row.Problems, now) == ""
		if of.claim != nil && noSnapshot && inv.classes.Undecided(of.claim) {
			row.Undecided = whyUnknown
		}
		if u, is := unansweredSlot(s, of, d, inv.classes.All); is {
			u.explained = explained(s, row.Problems)
			status.unanswered = append(status.unanswered, u)
		}
		for i := range d.Parts {
			part := row.part(d, &d.Parts[i], now)
			part.protect(s, inv, of.claimNamed(part.Name), d.OfPart(i), now)
			status.PersistentVolumeClaims = append(status.PersistentVolumeClaims, part)
		}
		if len(d.Parts) == 0 {
			row.protect(s, inv, of.claim, d, now)
			status.PersistentVolumeClaims = append(status.PersistentVolumeClaims, row)
		}
	}
	if !slices.ContainsFunc(status.PersistentVolumeClaims, func(c claimStatus) bool { return c.Protection != "" }) {
		status.noMatch = snapshots.NoMatch(&inv.origins.decided(s).Spec, inv.claims[s.Namespace])
	}
	return status
}

// protect says whether a selected PVC is protected by the schedule, as coverage does.
func (c *claimStatus) protect(
	s *v1alpha1.SnapshotSchedule, inv *inventory, claim *corev1.PersistentVolumeClaim, d *snapshots.Judgment, now time.Time,
) {
	if claim != nil && c.State == stateSelected {
		found := claimCoverageOf(claim, []relation{relationOf(inv.origins.decided(s), claim, d, now)}, &inv.classes)
		c.Protection, c.Reason, c.gap = found.Protection, found.why(), found.Gap
	}
}

// part returns the row of a PVC of a group.
func (c claimStatus) part(d *snapshots.Judgment, p *snapshots.Part, now time.Time) claimStatus {
	c.Name, c.Group, c.VerifiedTime = p.Claim, d.Group, term.TimeOf(p.Drills.Verified)
	c.count(p.Snapshots, now)
	c.Snapshots, c.lacks = len(p.Snapshots), map[string]bool{}
	for i := range d.Series.Snapshots {
		s := &d.Series.Snapshots[i]
		holds := slices.ContainsFunc(p.Snapshots, func(of retention.Snapshot) bool { return of.Name == s.Name })
		_, recorded := snapshots.ClaimsOf(d.Outputs[i])[p.Claim]
		// Unless it is ready, or once it is being deleted, none holds anything.
		c.lacks[s.Name] = !recorded || s.IsReady() && !holds
	}
	return c
}

func claimStatusOf(series *series, d *snapshots.Judgment, now time.Time) claimStatus {
	row := claimStatus{Name: series.name(), MapKey: series.mapKey, Snapshots: len(d.Outputs), Skipped: d.SkipReason}
	switch {
	case d.SkipReason != "":
	case d.Due:
		row.NextSnapshotTime = term.TimeOf(d.Slots.Current)
	default:
		row.NextSnapshotTime = term.TimeOf(d.Slots.Next)
	}
	row.VerifiedTime = term.TimeOf(d.Drills(now).Verified)
	row.count(d.Series.Snapshots, now)
	return row
}

// count fills in what is ready.
func (c *claimStatus) count(all []retention.Snapshot, now time.Time) {
	c.Ready, c.NewestReady, c.NewestReadyTime = 0, "", nil
	for i := range all {
		if all[i].IsReady() {
			c.Ready++
		}
	}
	if i := retention.NewestReady(all, now); i >= 0 {
		c.NewestReady, c.NewestReadyTime = all[i].Name, term.TimeOf(all[i].AgeBase(now))
	}
}

func printStatus(w io.Writer, output *term.Output, all []scheduleStatus, now time.Time) error {
	if output.Structured() {
		return output.PrintStructured(w, map[string]any{"items": all})
	}
	style := term.StyleOf(w)
	for i, s := range all {
		if output.Format == term.Names {
			fmt.Fprintln(w, term.ScheduleResource+"/"+s.Name)
			continue
		}
		if !output.NoHeaders {
			if i > 0 {
				fmt.Fprintln(w)
			}
			term.Say(w, style.Bold(s.Namespace+"/"+s.Name)+": "+s.Policy)
			for _, line := range s.conditionWords(style) {
				term.Say(w, "  "+line)
			}
		}
		if len(s.PersistentVolumeClaims) == 0 {
			continue
		}
		if err := output.PrintTable(w, s.table(now, output.NoHeaders)); err != nil {
			return err
		}
	}
	return nil
}

// table has a row for each PVC, the column GROUP if any belongs to a group, and VERIFIED if any drill
// succeeded. What is wrong with a group is said once.
func (s *scheduleStatus) table(now time.Time, alone bool) *term.Table {
	columns := []any{"PVC", "GROUP", "NEWEST READY", "VERIFIED", "NEXT", "SNAPSHOTS", "+READY", "+NEWEST READY NAME", "+MAP KEY", "PROBLEM"}
	const group, verified = 1, 3
	drilled := slices.ContainsFunc(s.PersistentVolumeClaims, func(c claimStatus) bool { return c.VerifiedTime != nil })
	grouped := slices.ContainsFunc(s.PersistentVolumeClaims, func(c claimStatus) bool { return c.Group != "" })
	without := func(cells []any) []any {
		if !drilled {
			cells = slices.Delete(cells, verified, verified+1)
		}
		if !grouped {
			cells = slices.Delete(cells, group, group+1)
		}
		return cells
	}
	var header []string
	if alone { // without the line about the schedule, each row names it
		header = []string{"NAMESPACE", "SCHEDULE"}
	}
	for _, column := range without(columns) {
		header = append(header, column.(string))
	}
	table := term.NewTable(header...)
	for i, c := range s.PersistentVolumeClaims {
		problems := c.problemWords(now)
		if i > 0 && c.Group != "" && problems != "" && s.PersistentVolumeClaims[i-1].MapKey == c.MapKey {
			problems = "as above"
		}
		row := without([]any{labelOf(c.Name, c.State), c.Group, term.Age(now, term.ValueOf(c.NewestReadyTime)), term.Age(now, term.ValueOf(c.VerifiedTime)),
			term.Due(now, term.ValueOf(c.NextSnapshotTime)), c.Snapshots, c.Ready, c.NewestReady, c.MapKey, problems})
		if alone {
			row = slices.Concat([]any{s.Namespace, s.Name}, row)
		}
		table.Row(row...)
	}
	return table
}

// labelOf is a PVC's name, marked if it is not selected.
func labelOf(claim, state string) string {
	if state == stateSelected {
		return claim
	}
	return claim + " (" + strings.ToLower(state) + ")"
}

func (c *claimStatus) problemWords(now time.Time) string {
	var words []string
	if c.Skipped != "" {
		words = append(words, "skipped: "+c.Skipped)
	}
	for _, p := range c.Problems {
		words = append(words, p.words(now))
	}
	if c.Undecided != "" {
		words = append(words, c.Undecided)
	}
	return strings.Join(words, "; ")
}
