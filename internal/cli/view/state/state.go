// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package state is the status of schedules and of their PVCs.
//
//	state.go  what the live objects show
//	silence.go   whether the operator lives
//	operator.go  what is known of the operator
//	words.go  conditions in words
package state

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
	"mapcontroller.dev/snapshotschedule/internal/cli/view/protection"
	"mapcontroller.dev/snapshotschedule/internal/retention"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// ScheduleStatus is the state of one schedule.
type ScheduleStatus struct {
	Namespace              string             `json:"namespace"`
	Name                   string             `json:"name"`
	Policy                 string             `json:"policy"`
	InvalidSpec            string             `json:"invalidSpec,omitempty"`
	Conditions             []metav1.Condition `json:"conditions,omitempty"`
	Observed               bool               `json:"observed"`
	Problems               []view.Problem     `json:"problems,omitempty"`
	PersistentVolumeClaims []ClaimStatus      `json:"persistentVolumeClaims"`
	// now is when it was judged.
	now time.Time
	// unanswered are slots without a snapshot, silent is for how long the operator has shown no sign of life, and
	// operatorNamespace is where it is, as far as that is known.
	unanswered        []unanswered
	Silent            time.Duration `json:"-"`
	operatorNamespace string
	// NoMatch says why no PVC is selected.
	NoMatch string `json:"-"`
}

// ClaimStatus is the state of one series.
type ClaimStatus struct {
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
	Protection protection.Protection `json:"protection,omitempty"`
	Reason     string                `json:"reason,omitempty"`
	// Undecided says why it is not known whether the PVC is skipped.
	Undecided string         `json:"undecided,omitempty"`
	Problems  []view.Problem `json:"problems,omitempty"`
	// DriverError is what the driver says of a snapshot in progress, which is no problem yet.
	DriverError string `json:"driverError,omitempty"`
	gap         bool
	// Lacks has the group snapshots of its group without data of it.
	Lacks map[string]bool `json:"-"`
}

// ReadSelected reads the schedule of the arguments, or all of the scope, with what they select
// and own.
func ReadSelected(
	ctx context.Context, s *term.Scope, f *term.Factory, args []string,
) ([]*v1alpha1.SnapshotSchedule, *view.Inventory, error) {
	name, err := term.OneSchedule(args)
	if err != nil {
		return nil, nil, err
	}
	if name != "" {
		if s.AllNamespaces || s.Selector != "" {
			return nil, nil, fmt.Errorf("a name cannot be combined with --all-namespaces or --selector")
		}
		one, inv, err := view.ReadOf(ctx, f, name)
		return []*v1alpha1.SnapshotSchedule{one}, inv, err
	}
	found, err := view.ReadSchedules(ctx, f, s.Namespace(f), s.Selector)
	if err != nil || len(found) == 0 {
		return nil, nil, err
	}
	inv, err := view.ReadAbout(ctx, f, s.Namespace(f), found, labels.Everything())
	return found, inv, err
}

// StatusOf returns the status of a schedule.
func StatusOf(s *v1alpha1.SnapshotSchedule, inv *view.Inventory, now time.Time) ScheduleStatus {
	status := ScheduleStatus{
		Namespace: s.Namespace, Name: s.Name, Policy: view.PolicyWords(&inv.Origins.Decided(s).Spec),
		Conditions: s.Status.Conditions, Observed: s.Status.ObservedGeneration == s.Generation,
		PersistentVolumeClaims: []ClaimStatus{}, now: now,
	}
	status.addOwnProblems(s)
	judge, all, err := inv.Judged(s, now)
	if err != nil {
		status.InvalidSpec = err.Error()
		return status
	}
	for of, d := range all {
		row := claimStatusOf(of, d, judge.ReadyDeadline(), now)
		row.State = of.State(judge)
		row.Problems = view.ProblemsOf(s, row.Name, d.Group, row.State, d.Problems)
		noSnapshot := row.State == view.StateSelected && row.Snapshots == 0 && view.RefusalOf(row.Problems, now) == ""
		if of.Claim != nil && noSnapshot && inv.Classes.Undecided(of.Claim) {
			row.Undecided = view.WhyUnknown
		}
		if u, is := unansweredSlot(s, of, d, inv.Classes.All); is {
			u.explained = view.Explained(s, row.Problems)
			status.unanswered = append(status.unanswered, u)
		}
		for i := range d.Parts {
			one := d.OfPart(i)
			part := row.part(d, &d.Parts[i], one.Series.Snapshots, now)
			part.protect(s, inv, of.ClaimNamed(part.Name), one, now)
			status.PersistentVolumeClaims = append(status.PersistentVolumeClaims, part)
		}
		if len(d.Parts) == 0 {
			row.protect(s, inv, of.Claim, d, now)
			status.PersistentVolumeClaims = append(status.PersistentVolumeClaims, row)
		}
	}
	if !slices.ContainsFunc(status.PersistentVolumeClaims, func(c ClaimStatus) bool { return c.Protection != "" }) {
		status.NoMatch = snapshots.NoMatch(&inv.Origins.Decided(s).Spec, inv.Claims[s.Namespace])
	}
	return status
}

// protect says whether a selected PVC is protected by the schedule, as coverage does.
func (c *ClaimStatus) protect(
	s *v1alpha1.SnapshotSchedule, inv *view.Inventory, claim *corev1.PersistentVolumeClaim, d *snapshots.Judgment, now time.Time,
) {
	if claim != nil && c.State == view.StateSelected {
		relation := protection.RelationOf(inv.Origins.Decided(s), claim, d, now)
		found := protection.ClaimCoverageOf(claim, []protection.Relation{relation}, &inv.Classes)
		c.Protection, c.Reason, c.gap = found.Protection, found.Why(), found.Gap
	}
}

// part returns the row of a PVC of a group, of which there are some snapshots, also of other groups: a PVC that was relabeled has those
// of before.
func (c ClaimStatus) part(d *snapshots.Judgment, p *snapshots.Part, all []retention.Snapshot, now time.Time) ClaimStatus {
	c.Name, c.Group, c.VerifiedTime = p.Claim, d.Group, term.TimeOf(p.Drills.Verified)
	c.count(all, now)
	c.Snapshots, c.Lacks = len(all), map[string]bool{}
	for i := range d.Series.Snapshots {
		s := &d.Series.Snapshots[i]
		holds := slices.ContainsFunc(p.Snapshots, func(of retention.Snapshot) bool { return of.Name == s.Name })
		_, recorded := backup.ClaimsOf(d.Outputs[i])[p.Claim]
		// Unless it is ready, or once it is being deleted, none holds anything.
		c.Lacks[s.Name] = !recorded || s.IsReady() && !holds
	}
	return c
}

func claimStatusOf(series *view.Series, d *snapshots.Judgment, readyDeadline time.Duration, now time.Time) ClaimStatus {
	row := ClaimStatus{Name: series.Name(), MapKey: series.MapKey, Snapshots: len(d.Outputs), Skipped: string(d.SkipReason)}
	switch {
	case d.SkipReason != "":
	case d.Due:
		row.NextSnapshotTime = term.TimeOf(d.Slots.Current)
	default:
		row.NextSnapshotTime = term.TimeOf(d.Slots.Next)
	}
	for i := range d.Series.Snapshots {
		if d.Series.Snapshots[i].State(now, readyDeadline) == retention.InProgress {
			row.DriverError = cmp.Or(backup.DriverError(d.Outputs[i]), row.DriverError)
		}
	}
	row.VerifiedTime = term.TimeOf(d.Drills(now).Verified)
	row.count(d.Series.Snapshots, now)
	return row
}

// count fills in what is ready.
func (c *ClaimStatus) count(all []retention.Snapshot, now time.Time) {
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

// ProblemWords say what is wrong with a PVC.
func (c *ClaimStatus) ProblemWords(now time.Time) string {
	var words []string
	if c.Skipped != "" {
		words = append(words, "skipped: "+c.Skipped)
	}
	for _, p := range c.Problems {
		words = append(words, p.Words(now))
	}
	if c.DriverError != "" && len(c.Problems) == 0 {
		words = append(words, "not ready yet: "+c.DriverError)
	}
	if c.Undecided != "" {
		words = append(words, c.Undecided)
	}
	return strings.Join(words, "; ")
}

// addOwnProblems adds the problems of the schedule itself. What it has in common with series that are gone, their rows show.
func (s *ScheduleStatus) addOwnProblems(of *v1alpha1.SnapshotSchedule) {
	for _, p := range of.Status.Problems {
		if p.PersistentVolumeClaim == "" && p.Group == "" && view.OnlyReported(of, p.Reason, view.StateSelected) {
			s.Problems = append(s.Problems, view.Reported(p))
		}
	}
}
