// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package protection

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
	"mapcontroller.dev/snapshotschedule/internal/retention"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// Relation is what a schedule means to a PVC that it selects.
type Relation struct {
	schedule string
	inactive string // why the schedule protects nothing
	mark     string // the same in a word
	skip     snapshots.SkipReason
	refused  string // why no VolumeSnapshotClass fits
	taken    bool   // it has snapshots
	grouped  bool   // it takes group snapshots, which need no VolumeSnapshotClass
	stale    bool
	recovery time.Time
	drills   snapshots.Drills
}

// RelationOf returns how a PVC stands under a schedule.
func RelationOf(s *v1alpha1.SnapshotSchedule, claim *corev1.PersistentVolumeClaim, d *snapshots.Judgment, now time.Time) Relation {
	r := Relation{
		schedule: s.Name, skip: d.SkipReason, taken: len(d.Outputs) > 0, grouped: d.Group != "", stale: d.Stale(), drills: d.Drills(now),
	}
	switch {
	case s.DeletionTimestamp != nil:
		r.inactive, r.mark = "it is being deleted", "being deleted"
	case s.Spec.Suspend && !d.Current(): // else its snapshots are requested from outside, or it was suspended a moment ago
		r.inactive, r.mark = "it is suspended", "suspended"
	}
	if r.skip == "" { // else the report is older than what makes the PVC skipped
		r.refused = view.RefusalOf(view.ProblemsOf(s, claim.Name, d.Group, view.StateSelected, d.Problems), now)
	}
	if r.refused != "" && r.mark == "" {
		r.mark = "failing"
	}
	if i := retention.NewestReady(d.Series.Snapshots, now); i >= 0 {
		r.recovery = d.Series.Snapshots[i].AgeBase(now)
	}
	return r
}

// ClaimCoverageOf sums up what the schedules that select a PVC mean to it.
func ClaimCoverageOf(claim *corev1.PersistentVolumeClaim, all []Relation, classes *snapshots.Classes) ClaimCoverage {
	c := ClaimCoverage{Namespace: claim.Namespace, Name: claim.Name}
	c.VerifiedTime, c.VerificationFailed = drillsUnder(all)
	skip, doubt := skipUnder(claim, all, classes), classes.Undecided(claim)
	var newest time.Time
	for _, r := range all {
		c.Schedules, c.marks = append(c.Schedules, r.schedule), append(c.marks, r.mark)
		doubt = doubt && !r.taken && r.refused == ""
		if r.recovery.After(newest) {
			newest = r.recovery
		}
	}
	c.RecoveryPointTime = term.TimeOf(newest)
	s := standingUnder(all)
	if !s.onTime && s.behind == nil { // else another schedule snapshots it, such as in a group
		skip = cmp.Or(skip, s.skip)
	}
	var out bool
	if c.Protection, c.Reason, out = excludedBy(claim); !out {
		if skip != "" && !s.refused { // else it has snapshots, and its class was lost
			c.Protection, c.Reason = Skipped, string(skip)
		} else {
			c.Protection, c.Reason = protectionBy(s.onTime, newest, s.behind, s.inactive, doubt)
		}
	}
	c.Note, c.byRollback = excludeNote(claim), snapshots.ExcludedOnlyByRollback(claim)
	c.Gap = c.Protection == Unprotected || c.Protection == Stale || c.Protection == Skipped && len(all) > 0 && !snapshots.SkipOf(claim).Passes
	return c
}

// excludedBy returns what the annotation of a PVC says: it is excluded, or a rollback that is unfinished excludes it, which
// protects nothing.
func excludedBy(claim *corev1.PersistentVolumeClaim) (p Protection, why string, is bool) {
	const annotation = "annotation " + v1alpha1.AnnotationExclude
	switch {
	case snapshots.ExcludedOnlyByRollback(claim):
		return Unprotected, annotation + ": " + claim.Annotations[v1alpha1.AnnotationExclude] + " is unfinished", true
	case snapshots.Excluded(claim):
		return Excluded, annotation, true
	}
	return "", "", false
}

// excludeNote says what may be meant otherwise: a label with our key does nothing, and any value of the annotation excludes.
func excludeNote(claim *corev1.PersistentVolumeClaim) string {
	if _, label := claim.Labels[v1alpha1.AnnotationExclude]; label {
		return "the label " + v1alpha1.AnnotationExclude + " does nothing: it has to be an annotation"
	}
	value, excluded := claim.Annotations[v1alpha1.AnnotationExclude]
	if excluded && slices.Contains([]string{"false", "no", "0"}, strings.ToLower(value)) {
		return fmt.Sprintf("%s: %q excludes it, as any value does", v1alpha1.AnnotationExclude, value)
	}
	return ""
}

// standing is how the schedules that select a PVC do.
type standing struct {
	onTime, refused  bool
	inactive, behind []string
	// skip is why one of them skips it.
	skip snapshots.SkipReason
}

func standingUnder(all []Relation) (s standing) {
	for _, r := range all {
		switch {
		case r.inactive != "":
			s.inactive = append(s.inactive, r.schedule+": "+r.inactive)
		case r.refused != "":
			s.refused, s.inactive = true, append(s.inactive, r.schedule+": "+r.refused)
		case r.skip != "":
			s.skip = r.skip
		case r.stale:
			s.behind = append(s.behind, r.schedule)
		default:
			s.onTime = true
		}
	}
	return s
}

// skipUnder returns why a PVC cannot be snapshotted, whatever the schedules say. In a group that is taken, it needs no
// VolumeSnapshotClass.
func skipUnder(claim *corev1.PersistentVolumeClaim, all []Relation, classes *snapshots.Classes) snapshots.SkipReason {
	if slices.ContainsFunc(all, func(r Relation) bool { return r.grouped && r.refused == "" }) {
		classes = &snapshots.Classes{}
	}
	return classes.SkipReason(claim)
}

// drillsUnder returns the last success of a drill of a PVC, and whether the last one under a schedule failed.
func drillsUnder(all []Relation) (verified *metav1.Time, failed bool) {
	var last time.Time
	for _, r := range all {
		failed = failed || r.drills.Failed.Reason != ""
		if r.drills.Verified.After(last) {
			last = r.drills.Verified
		}
	}
	return term.TimeOf(last), failed
}

// protectionBy says how well a PVC is protected: by a schedule that is on time, else by
// those that are behind or inactive. In doubt, it may be one that cannot be snapshotted;
// a gap remains one.
func protectionBy(onTime bool, newest time.Time, behind, inactive []string, doubt bool) (is Protection, reason string) {
	is, reason = Unprotected, "no schedule selects it"
	switch {
	case onTime && newest.IsZero() && doubt:
		return Unknown, view.WhyUnknown
	case onTime && newest.IsZero():
		return Pending, "the first snapshot is not ready yet"
	case onTime:
		return Protected, ""
	case len(behind) > 0:
		is, reason = Stale, "no ready snapshot for a whole slot of "+strings.Join(behind, ", ")
	case len(inactive) > 0:
		reason = strings.Join(inactive, "; ")
	}
	if doubt {
		reason += "; " + view.WhyUnknown
	}
	return is, reason
}

// ScheduleWords names the schedules that select the PVC, and marks those that take no snapshot of it.
func (c *ClaimCoverage) ScheduleWords() string {
	all := slices.Clone(c.Schedules)
	for i, mark := range c.marks {
		if mark != "" {
			all[i] += " (" + mark + ")"
		}
	}
	return strings.Join(all, ",")
}

// Why is the reason with the note.
func (c *ClaimCoverage) Why() string {
	return strings.TrimPrefix(strings.TrimSuffix(c.Reason+"; "+c.Note, "; "), "; ")
}
