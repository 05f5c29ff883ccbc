// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"fmt"
	"slices"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// view is what retention is decided on: one series, the PVC that it is of, and
// the schedule, as they were at one moment or as the guards were shown them.
type view struct {
	// from and until are by the operator's clock.
	from, until time.Time
	// schedule and claim are nil where they are gone. Pointers to what the
	// history holds: never written to.
	schedule *v1alpha1.SnapshotSchedule
	claim    *corev1.PersistentVolumeClaim
	series   []*snapshotv1.VolumeSnapshot
	// claims are all PVCs, for what is being restored.
	claims []*corev1.PersistentVolumeClaim
}

// mayDelete says whether the contract allows a snapshot of the view to be
// deleted at a time, and why or why not. It is slow and goes by the text.
func (v *view) mayDelete(doomed *snapshotv1.VolumeSnapshot, now time.Time) (bool, string) {
	if v.schedule == nil {
		return false, "its schedule is gone"
	}
	t, err := readTerms(&v.schedule.Spec)
	if err != nil {
		return false, fmt.Sprintf("the spec is invalid: %v", err)
	}
	q := question{view: v, terms: t, now: now, sorted: newestFirst(v.series, now)}
	if why := q.held(doomed); why != "" {
		return false, why
	}
	if isUncut(doomed) && (v.claim == nil || v.claim.DeletionTimestamp != nil) {
		return true, "it is uncut and its PVC is gone or going"
	}
	if q.underWay(doomed) {
		return false, "it is under way"
	}
	if isUncut(doomed) && q.selected() && v.claim.Status.Phase == corev1.ClaimBound &&
		slotMayBeDue(t, v.schedule, v.claim, v.series, now) {
		return true, "it is uncut, failed, and a slot is due"
	}
	if !isReady(doomed) {
		return q.unreadyMayGo(doomed)
	}
	return q.readyMayGo(doomed)
}

type question struct {
	*view
	*terms
	now    time.Time
	sorted []*snapshotv1.VolumeSnapshot // newest first
}

// selected: the PVC exists, matches, and is not of the schedule's own making.
func (q *question) selected() bool {
	return q.claim != nil && q.selector.Matches(labels.Set(q.claim.Labels)) && controllerOf(q.claim) != q.schedule.UID
}

// limits are the TTL and the tiers that apply: those of the spec, unless the
// series is detached and has a TTL of its own.
func (q *question) limits() (ttl time.Duration, keep v1alpha1.Keep) {
	if !q.selected() && q.detachedTTL > 0 {
		return q.detachedTTL, v1alpha1.Keep{}
	}
	return q.ttl, q.keep
}

// held is rule 1, but for being under way.
func (q *question) held(s *snapshotv1.VolumeSnapshot) string {
	if _, ok := s.Annotations[v1alpha1.AnnotationHold]; ok {
		return "it is held by annotation"
	}
	for _, claim := range q.claims {
		if restores(claim, s) {
			return "PVC " + claim.Name + " is being restored from it"
		}
	}
	return ""
}

func restores(claim *corev1.PersistentVolumeClaim, s *snapshotv1.VolumeSnapshot) bool {
	if claim.Status.Phase != corev1.ClaimPending && claim.Status.Phase != "" {
		return false
	}
	isIt := func(group *string, kind, name, namespace string) bool {
		return group != nil && *group == snapshotv1.GroupName && kind == "VolumeSnapshot" && name == s.Name && namespace == s.Namespace
	}
	if ref := claim.Spec.DataSourceRef; ref != nil {
		namespace := claim.Namespace
		if ref.Namespace != nil && *ref.Namespace != "" {
			namespace = *ref.Namespace
		}
		if isIt(ref.APIGroup, ref.Kind, ref.Name, namespace) {
			return true
		}
	}
	ref := claim.Spec.DataSource
	return ref != nil && isIt(ref.APIGroup, ref.Kind, ref.Name, claim.Namespace)
}

// underWay: not ready, and either uncut and young, or cut and without error.
// One that was ready and lost it looks like the latter; it is told by a newer
// one that is ready, for no other is taken while the newest is under way.
func (q *question) underWay(s *snapshotv1.VolumeSnapshot) bool {
	switch {
	case readyToUse(s):
		return false
	case isUncut(s):
		return !q.beyondDeadline(s)
	case inError(s):
		return false
	}
	for _, newer := range q.sorted {
		if newer == s {
			return true
		}
		if isReady(newer) {
			return false
		}
	}
	return true
}

func (q *question) beyondDeadline(s *snapshotv1.VolumeSnapshot) bool {
	return q.now.Sub(s.CreationTimestamp.Time) >= q.readyDeadline
}

func (q *question) withinTTL(s *snapshotv1.VolumeSnapshot, ttl time.Duration) bool {
	return q.now.Sub(ageBase(s, q.now)) < ttl
}

// unreadyMayGo: by age like others; without a TTL, a cut one that failed or is
// no longer ready, once it is older than every ready one that is kept.
func (q *question) unreadyMayGo(s *snapshotv1.VolumeSnapshot) (bool, string) {
	ttl, keep := q.limits()
	switch {
	case ttl > 0 && q.withinTTL(s, ttl):
		return false, fmt.Sprintf("its age is within the TTL of %s", ttl)
	case ttl > 0:
		return true, "its age is beyond the TTL"
	case keep == v1alpha1.Keep{} && q.maxCount == 0:
		return false, "without TTL, tiers and cap everything is kept"
	case isUncut(s), !q.beyondDeadline(s):
		return false, "it is not ready, and no TTL is set"
	}
	if slices.ContainsFunc(q.readings(), func(r reading) bool { return q.superseded(s, r) }) {
		return true, "it is older than every ready one that is kept"
	}
	return false, "it is not older than every ready one that is kept, or there is none"
}

// superseded: there are ready ones that are kept, and all of them are younger.
func (q *question) superseded(s *snapshotv1.VolumeSnapshot, r reading) bool {
	kept := false
	for _, other := range readyOnes(q.series) {
		goes, _ := q.agedOrCapped(other, r)
		if goes && q.held(other) == "" && !q.inFloor(other) {
			continue
		}
		kept = true
		if !ageBase(other, q.now).After(ageBase(s, q.now)) {
			return false
		}
	}
	return kept
}

// readyMayGo is rules 2 to 4 for a ready snapshot that nothing holds.
func (q *question) readyMayGo(s *snapshotv1.VolumeSnapshot) (bool, string) {
	if q.inFloor(s) {
		return false, "it belongs to the floor"
	}
	allowed, why := false, ""
	for _, r := range q.readings() {
		if allowed, why = q.agedOrCapped(s, r); allowed {
			break
		}
	}
	return allowed, why
}

// reading is one of the ways to take the contract where it leaves a choice.
type reading struct {
	// byTier: whether the newest of a period is the one with the latest slot, or
	// the one that was created last.
	byTier names
	// spared, if it is not nil, keeps its age within the TTL for as long as its
	// slot is: the newest one of a selected PVC, which else would be due again at
	// once where the server's clock is behind.
	spared *snapshotv1.VolumeSnapshot
}

func (q *question) readings() []reading {
	bySlot, byCreation := q.tierKept(q.sorted), q.tierKept(latestCreatedFirst(q.sorted))
	all := []reading{{byTier: bySlot}, {byTier: byCreation}}
	if newest := q.newestStanding(); newest != nil && q.selected() && slotOf(newest, q.now).After(ageBase(newest, q.now)) {
		all = append(all, reading{byTier: bySlot, spared: newest}, reading{byTier: byCreation, spared: newest})
	}
	return all
}

func latestCreatedFirst(sorted []*snapshotv1.VolumeSnapshot) []*snapshotv1.VolumeSnapshot {
	result := slices.Clone(sorted)
	slices.SortStableFunc(result, func(a, b *snapshotv1.VolumeSnapshot) int {
		return b.CreationTimestamp.Compare(a.CreationTimestamp.Time)
	})
	return result
}

// inFloor: the newest minReady ready ones, held or not.
func (q *question) inFloor(s *snapshotv1.VolumeSnapshot) bool {
	floor := q.floor()
	for i, ready := range readyOnes(q.sorted) {
		if ready == s {
			return i < floor
		}
	}
	return false
}

func (v *view) floorOf(t *terms) int {
	if v.claim == nil {
		return t.detachedMinReady
	}
	return t.minReady
}

func (q *question) floor() int { return q.floorOf(q.terms) }

type names map[string]bool

func (q *question) agedOrCapped(s *snapshotv1.VolumeSnapshot, r reading) (bool, string) {
	byTier := r.byTier
	ttl, keep := q.limits()
	keptByAge := func(s *snapshotv1.VolumeSnapshot) bool {
		if ttl == 0 {
			return keep == v1alpha1.Keep{}
		}
		return q.withinTTL(s, ttl) || s == r.spared && q.now.Sub(slotOf(s, q.now)) < ttl
	}
	if !keptByAge(s) && !byTier[s.Name] {
		return true, "neither its age nor a tier keeps it"
	}
	if q.maxCount == 0 {
		return false, "its age or a tier keeps it, and there is no cap"
	}

	newest := q.newestStanding()
	var counted int
	var goFirst, goNext []*snapshotv1.VolumeSnapshot
	for _, other := range slices.Backward(readyOnes(q.sorted)) { // oldest first
		if q.held(other) != "" || !keptByAge(other) && !byTier[other.Name] {
			continue
		}
		counted++
		switch {
		case other == newest && q.selected():
		case byTier[other.Name]:
			goNext = append(goNext, other)
		default:
			goFirst = append(goFirst, other)
		}
	}
	leaving := append(goFirst, goNext...)
	place := slices.Index(leaving, s)
	if place < 0 || place >= counted-q.maxCount {
		return false, fmt.Sprintf("its age or a tier keeps it, and there are %d for a cap of %d", counted, q.maxCount)
	}
	return true, "it is beyond the cap"
}

func (q *question) newestStanding() *snapshotv1.VolumeSnapshot {
	for _, s := range q.sorted {
		if s.DeletionTimestamp == nil {
			return s
		}
	}
	return nil
}

// tierKept are the names that tiers select. The periods are those that a ready
// one was created in; order says which one of a period is the newest.
func (q *question) tierKept(order []*snapshotv1.VolumeSnapshot) names {
	_, keep := q.limits()
	kept := names{}
	for i, s := range readyOnes(q.sorted) {
		if i < int(keep.Last) {
			kept[s.Name] = true
		}
	}
	var recentFirst []*snapshotv1.VolumeSnapshot
	if keep != (v1alpha1.Keep{Last: keep.Last}) {
		recentFirst = readyOnes(latestCreatedFirst(q.sorted))
	}
	for _, tier := range []struct {
		periods int32
		of      func(time.Time) period
	}{
		{keep.Hourly, hourOf}, {keep.Daily, dayOf}, {keep.Weekly, weekOf}, {keep.Monthly, monthOf}, {keep.Yearly, yearOf},
	} {
		if tier.periods == 0 {
			continue
		}
		recent := map[period]bool{}
		for _, s := range recentFirst {
			if len(recent) < int(tier.periods) {
				recent[tier.of(s.CreationTimestamp.In(q.zone))] = true
			}
		}
		for _, s := range readyOnes(order) {
			if p := tier.of(s.CreationTimestamp.In(q.zone)); recent[p] {
				kept[s.Name] = true
				delete(recent, p)
			}
		}
	}
	return kept
}

// period names an hour, a day, a week, a month or a year.
type period [5]int

func hourOf(t time.Time) period {
	_, offset := t.Zone()
	return period{t.Year(), int(t.Month()), t.Day(), t.Hour(), offset}
}

func dayOf(t time.Time) period { return period{t.Year(), int(t.Month()), t.Day()} }

func weekOf(t time.Time) period {
	year, week := t.ISOWeek()
	return period{year, week}
}

func monthOf(t time.Time) period { return period{t.Year(), int(t.Month())} }

func yearOf(t time.Time) period { return period{t.Year()} }
