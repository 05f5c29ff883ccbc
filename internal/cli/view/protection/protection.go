// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package protection says whether PVCs are protected.
//
//	protection.go  of all PVCs, and what has no schedule
//	claim.go       of one PVC
//	remedy.go      what to do about a gap
//	contexts.go    of several clusters
package protection

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
)

// Protection is whether a PVC is protected.
type Protection string

// What a PVC's protection can be.
const (
	Protected   Protection = "Protected"
	Pending     Protection = "Pending"     // selected, without a ready snapshot yet
	Unknown     Protection = "Unknown"     // pending or skipped: the user may not read VolumeSnapshotClasses
	Unprotected Protection = "Unprotected" // a gap
	Stale       Protection = "Stale"       // a gap: the recovery point is older than it should be
	Skipped     Protection = "Skipped"     // no schedule can snapshot it now
	Excluded    Protection = "Excluded"    // it is annotated so
)

// Coverage is what is protected, and what is left over.
type Coverage struct {
	Claims    []ClaimCoverage `json:"persistentVolumeClaims"`
	Leftovers []leftover      `json:"snapshotsWithoutSchedule"`
	Rollbacks []Rollback      `json:"unfinishedRollbacks,omitempty"`
	// Unread are the clusters of --contexts that could not be read.
	Unread []UnreadCluster `json:"unreadClusters,omitempty"`
	// Missing is set if no cluster has the namespace: one that was mistyped has no gaps.
	Missing error `json:"-"`
	// Now is when it was read, by the API server's clock. Of several clusters, nows has that of each.
	Now  time.Time `json:"-"`
	nows map[string]time.Time
}

// NowIn is when a cluster was read, by its own clock: one that is wrong says nothing of other clusters.
func (c *Coverage) NowIn(cluster string) time.Time {
	if at, known := c.nows[cluster]; known {
		return at
	}
	return c.Now
}

// ClaimCoverage says whether a PVC is protected, and why not.
type ClaimCoverage struct {
	// Cluster is the context's name, with --contexts.
	Cluster           string       `json:"cluster,omitempty"`
	Namespace         string       `json:"namespace"`
	Name              string       `json:"name"`
	Protection        Protection   `json:"protection"`
	Gap               bool         `json:"gap"`
	Schedules         []string     `json:"schedules,omitempty"`
	RecoveryPointTime *metav1.Time `json:"recoveryPointTime,omitempty"`
	// VerifiedTime is the last success of a drill, under any schedule; VerificationFailed is set if the
	// last drill under one of them failed.
	VerifiedTime       *metav1.Time `json:"verifiedTime,omitempty"`
	VerificationFailed bool         `json:"verificationFailed,omitempty"`
	Reason             string       `json:"reason,omitempty"`
	// Note says what somebody may have meant otherwise.
	Note string `json:"note,omitempty"`
	// byRollback is set if only an unfinished rollback excludes it.
	byRollback bool
	// marks say of each of Schedules, in a word, why it protects nothing; empty: it does, or should.
	marks []string
	// If no schedule selects it, the schedules joins do with the labels that it lacks.
	joins, lacks []string
}

// leftover are snapshots whose schedule is gone: nothing deletes them.
type leftover struct {
	Cluster   string `json:"cluster,omitempty"`
	Namespace string `json:"namespace"`
	Schedule  string `json:"schedule"`
	Snapshots int    `json:"snapshots"`
}

// Rollback is one that began more than an hour ago and has not ended.
type Rollback struct {
	Cluster   string      `json:"cluster,omitempty"`
	Namespace string      `json:"namespace"`
	ID        string      `json:"id"`
	Claims    []string    `json:"persistentVolumeClaims"`
	BeganTime metav1.Time `json:"beganTime"`
	Remedy    string      `json:"remedy"`
}

// ReadRollbacks reads those of a namespace, or of all if it is empty. The PVCs, by namespace, were read before. Those may be missing
// that only what was unread shows.
type ReadRollbacks func(
	ctx context.Context, f *term.Factory, namespace string, claims map[string][]client.Object, now time.Time,
) (all []Rollback, unread, err error)

// readCoverage reads what is protected in one cluster.
func readCoverage(ctx context.Context, f *term.Factory, scope *term.Scope, unfinished ReadRollbacks) (*Coverage, error) {
	if err := f.Connect(ctx); err != nil {
		return nil, err
	}
	matches, err := labels.Parse(scope.Selector)
	if err != nil {
		return nil, err
	}
	now, err := f.ServerTime(ctx)
	if err != nil {
		return nil, err
	}
	schedules, err := view.ReadSchedules(ctx, f, scope.Namespace(f), "")
	if err != nil {
		return nil, err
	}
	inv, err := view.ReadAbout(ctx, f, scope.Namespace(f), schedules, matches)
	if err != nil {
		return nil, err
	}
	found := CoverageOf(schedules, inv, now)
	if found.Rollbacks, _, err = unfinished(ctx, f, scope.Namespace(f), inv.Claims, now); err != nil {
		return nil, err
	}
	if namespace := scope.Namespace(f); len(found.Claims) == 0 && namespace != "" {
		found.Missing = f.Missing(ctx, namespace)
	}
	return found, nil
}

// CoverageOf judges every PVC under every schedule of its namespace.
func CoverageOf(found []*v1alpha1.SnapshotSchedule, inv *view.Inventory, now time.Time) *Coverage {
	all := &Coverage{Claims: []ClaimCoverage{}, Leftovers: leftovers(found, inv), Now: now}
	under := map[client.Object][]Relation{}
	open := map[string][]candidate{}
	for _, s := range found {
		judge, judged, invalid := inv.Judged(s, now)
		if invalid != nil {
			matches, err := s.Spec.Selector.AsSelector()
			if err != nil {
				continue
			}
			selects := func(claim *corev1.PersistentVolumeClaim) bool { return matches.Matches(labels.Set(claim.Labels)) }
			open[s.Namespace] = append(open[s.Namespace], candidate{s, selects, false})
			for _, claim := range inv.Claims[s.Namespace] {
				if selects(claim.(*corev1.PersistentVolumeClaim)) {
					under[claim] = append(under[claim], Relation{schedule: s.Name, inactive: "its spec is invalid", mark: "invalid"})
				}
			}
			continue
		}
		decided := inv.Origins.Decided(s)
		single := decided.Spec.Group == nil && !decided.Spec.Suspend && decided.DeletionTimestamp == nil
		open[s.Namespace] = append(open[s.Namespace], candidate{decided, judge.Selects, single})
		for of, d := range judged {
			if of.State(judge) != view.StateSelected {
				continue
			}
			if of.Claim != nil {
				under[of.Claim] = append(under[of.Claim], RelationOf(decided, of.Claim, d, now))
			}
			for i := range d.Parts {
				claim := of.ClaimNamed(d.Parts[i].Claim)
				under[claim] = append(under[claim], RelationOf(decided, claim, d.OfPart(i), now))
			}
		}
	}
	for _, namespace := range slices.Sorted(maps.Keys(inv.Claims)) {
		for _, o := range inv.Claims[namespace] {
			claim := o.(*corev1.PersistentVolumeClaim)
			c := ClaimCoverageOf(claim, under[o], &inv.Classes)
			c.joins, c.lacks = c.labelsFor(claim, open[namespace])
			all.Claims = append(all.Claims, c)
		}
	}
	return all
}

// leftovers counts the snapshots whose schedule is gone.
func leftovers(found []*v1alpha1.SnapshotSchedule, inv *view.Inventory) []leftover {
	known, counts := map[leftover]bool{}, map[leftover]int{}
	for _, s := range found {
		known[leftover{Namespace: s.Namespace, Schedule: s.Name}] = true
	}
	for namespace := range inv.Namespaces() {
		for _, v := range slices.Concat(inv.Snapshots[namespace], inv.Groups[namespace]) {
			of := leftover{Namespace: namespace, Schedule: v.GetLabels()[v1alpha1.LabelSchedule]}
			if !known[of] && of.Schedule != "" && !backup.GroupMember(v) {
				counts[of]++
			}
		}
	}
	all := []leftover{}
	for of, n := range counts {
		all = append(all, leftover{Namespace: of.Namespace, Schedule: of.Schedule, Snapshots: n})
	}
	slices.SortFunc(all, func(a, b leftover) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Schedule, b.Schedule))
	})
	return all
}

// Verdict is what may be said of all PVCs in one line.
type Verdict int

// What may be said of all PVCs.
const (
	NoGaps  Verdict = iota
	HasGaps         // some PVCs are gaps
	NotRead         // no gap was found, and what could not be read may have some
	Waiting         // no gap was found, and some PVCs wait for their first snapshot, or it is unknown whether they can have one
)

// Verdict returns what may be said of all PVCs.
func (c *Coverage) Verdict() Verdict {
	switch {
	case c.Gaps() > 0:
		return HasGaps
	case len(c.Unread) > 0:
		return NotRead
	case slices.ContainsFunc(c.Claims, func(c ClaimCoverage) bool { return c.Protection == Pending || c.Protection == Unknown }):
		return Waiting
	}
	return NoGaps
}

// Gaps returns how many PVCs are not protected, and should be.
func (c *Coverage) Gaps() int {
	n := 0
	for i := range c.Claims {
		if c.Claims[i].Gap {
			n++
		}
	}
	return n
}
