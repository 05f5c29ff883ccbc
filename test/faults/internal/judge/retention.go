// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"fmt"
	"slices"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// view is what retention depends on: a series, its PVC and its schedule, as they were at one moment or as the guards were shown them.
type view struct {
	// from and until are by the operator's clock.
	from, until time.Time
	// schedule and claim are nil if they are gone. The objects belong to the history and must not be changed.
	schedule *v1alpha1.SnapshotSchedule
	claim    *corev1.PersistentVolumeClaim
	series   []*snapshotv1.VolumeSnapshot
	// claims are all PVCs: those that are being restored hold snapshots.
	claims []*corev1.PersistentVolumeClaim
}

// mayDelete returns whether the contract allows deleting a snapshot of the view at a time, and why or why not. It follows the text,
// rule by rule.
func (v *view) mayDelete(s *snapshotv1.VolumeSnapshot, now time.Time) (bool, string) {
	if v.schedule == nil {
		return false, "its schedule is gone"
	}
	spec, err := ReadSpec(&v.schedule.Spec)
	if err != nil {
		return false, fmt.Sprintf("the spec is invalid: %v", err)
	}
	e := evaluate(v, spec, now)
	if why := e.held(s); why != "" {
		return false, why
	}
	if isUncut(s) && (v.claim == nil || v.claim.DeletionTimestamp != nil) {
		return true, "it is uncut and its PVC is gone or being deleted"
	}
	if e.inProgress(s) {
		return false, "it is in progress"
	}
	if isUncut(s) && e.selected() && v.claim.Status.Phase == corev1.ClaimBound &&
		slotMayBeDue(spec, v.schedule, v.claim, v.series, now) {
		return true, "it is uncut, failed, and a slot is due"
	}
	var allowed bool
	var why string
	switch {
	case isReady(s):
		allowed, why = e.readyMayBeDeleted(s)
	case e.mayRecover(s):
		return false, "the floor lacks ready ones, and it may have lost its readiness a moment ago"
	default:
		allowed, why = e.unreadyMayBeDeleted(s)
	}
	if allowed && e.sparedForErrors(s) {
		return false, "it would be kept if those were ready that may have lost their readiness a moment ago"
	}
	return allowed, why
}

// sparedForErrors returns whether a snapshot would be kept if those were ready that hold data and have an error younger than
// readyDeadline.
func (e *evaluation) sparedForErrors(s *snapshotv1.VolumeSnapshot) bool {
	passed, some := *e.view, false
	passed.series = slices.Clone(e.series)
	for i, other := range e.series {
		if readyToUse(other) || isUncut(other) || !inError(other) || errorAge(other, e.now) >= e.readyDeadline {
			continue
		}
		passed.series[i], some = other.DeepCopy(), true
		passed.series[i].Status.ReadyToUse, passed.series[i].Status.Error = ptr.To(true), nil
	}
	if !some {
		return false
	}
	may, _ := passed.mayDelete(passed.series[slices.Index(e.series, s)], e.now)
	return !may
}

// mayRecover returns whether a snapshot that holds data is spared although it is not ready: fewer than the floor are, and its error, if
// it has one, is younger than readyDeadline.
func (e *evaluation) mayRecover(s *snapshotv1.VolumeSnapshot) bool {
	_, hasData := cutTime(s)
	return hasData && !isReady(s) && len(readyOnes(e.series)) < e.floorOf(e.Spec) && (!inError(s) || errorAge(s, e.now) < e.readyDeadline)
}

// evaluation is retention for a view at a time.
type evaluation struct {
	*view
	*Spec
	now    time.Time
	sorted []*snapshotv1.VolumeSnapshot // newest first
}

func evaluate(v *view, spec *Spec, now time.Time) *evaluation {
	return &evaluation{view: v, Spec: spec, now: now, sorted: newestFirst(v.series, now)}
}

// selected returns whether the PVC exists, matches the selector, and is not controlled by the schedule.
func (e *evaluation) selected() bool {
	if e.claim == nil {
		return false
	}
	_, excluded := e.claim.Annotations[v1alpha1.AnnotationExclude]
	class := v1alpha1.StorageClassName(ptr.Deref(e.claim.Spec.StorageClassName, ""))
	return !excluded && e.selector.Matches(labels.Set(e.claim.Labels)) && controllerOf(e.claim) != e.schedule.UID &&
		(len(e.storageClasses) == 0 || slices.Contains(e.storageClasses, class))
}

// limits returns the TTL and the tiers that apply: those of the spec, unless the series is detached and has a TTL of its own.
func (e *evaluation) limits() (ttl time.Duration, keep v1alpha1.Keep) {
	if !e.selected() && e.detachedTTL > 0 {
		return e.detachedTTL, v1alpha1.Keep{}
	}
	return e.TTL, e.keep
}

// held returns why rule 1 holds a snapshot, except for being in progress; empty if it does not.
func (e *evaluation) held(s *snapshotv1.VolumeSnapshot) string {
	if isHeld(s, e.now) {
		return "it is held by annotation"
	}
	for _, claim := range e.claims {
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
	refersTo := func(group *string, kind, name, namespace string) bool {
		return group != nil && *group == snapshotv1.GroupName && kind == "VolumeSnapshot" && name == s.Name && namespace == s.Namespace
	}
	if ref := claim.Spec.DataSourceRef; ref != nil {
		namespace := claim.Namespace
		if ref.Namespace != nil && *ref.Namespace != "" {
			namespace = *ref.Namespace
		}
		if refersTo(ref.APIGroup, ref.Kind, ref.Name, namespace) {
			return true
		}
	}
	ref := claim.Spec.DataSource
	return ref != nil && refersTo(ref.APIGroup, ref.Kind, ref.Name, claim.Namespace)
}

// inProgress: not ready, and either uncut and within readyDeadline, or cut and without error. One that lost its readiness looks like
// the latter, but a newer one was taken that is ready: none is taken while the newest is in progress.
func (e *evaluation) inProgress(s *snapshotv1.VolumeSnapshot) bool {
	switch {
	case readyToUse(s), isImported(s):
		return false
	case isUncut(s):
		return !e.pastReadyDeadline(s)
	case inError(s):
		return false
	}
	for _, newer := range e.sorted {
		if newer == s {
			return true
		}
		if isReady(newer) && !isImported(newer) {
			return false
		}
	}
	return true
}

func (e *evaluation) pastReadyDeadline(s *snapshotv1.VolumeSnapshot) bool {
	return e.now.Sub(s.CreationTimestamp.Time) >= e.readyDeadline
}

func (e *evaluation) withinTTL(s *snapshotv1.VolumeSnapshot, ttl time.Duration) bool {
	return e.now.Sub(ageBase(s, e.now)) < ttl
}

// unreadyMayBeDeleted: by age like others; without a TTL, a cut one that failed or lost its readiness, once it is older than every
// ready one that is kept.
func (e *evaluation) unreadyMayBeDeleted(s *snapshotv1.VolumeSnapshot) (bool, string) {
	ttl, keep := e.limits()
	switch {
	case ttl > 0 && e.withinTTL(s, ttl):
		return false, fmt.Sprintf("its age is within the TTL of %s", ttl)
	case ttl > 0:
		return true, "its age is beyond the TTL"
	case keep == v1alpha1.Keep{} && e.maxCount == 0:
		return false, "without TTL, tiers and cap everything is kept"
	case isImported(s):
		return false, "it was imported, and no TTL is set"
	case isUncut(s), !e.pastReadyDeadline(s):
		return false, "it is not ready, and no TTL is set"
	case s == e.newest() && e.selected():
		return false, "it is the newest of a selected PVC, and no TTL is set"
	}
	if slices.ContainsFunc(e.readings(), func(r reading) bool { return e.superseded(s, r) }) {
		return true, "it is older than every ready one that is kept"
	}
	return false, "it is not older than every ready one that is kept, or there is none"
}

// superseded: ready ones are kept, and all of them are younger.
func (e *evaluation) superseded(s *snapshotv1.VolumeSnapshot, r reading) bool {
	kept := false
	for _, other := range readyOnes(e.series) {
		deletable, _ := e.agedOrCapped(other, r)
		if deletable && e.held(other) == "" && !e.inFloor(other) {
			continue
		}
		kept = true
		if !ageBase(other, e.now).After(ageBase(s, e.now)) {
			return false
		}
	}
	return kept
}

// readyMayBeDeleted applies rules 2 to 4 to a ready snapshot that is not held.
func (e *evaluation) readyMayBeDeleted(s *snapshotv1.VolumeSnapshot) (bool, string) {
	if e.inFloor(s) {
		return false, "it belongs to the floor"
	}
	allowed, why := false, ""
	for _, r := range e.readings() {
		if allowed, why = e.agedOrCapped(s, r); allowed {
			break
		}
	}
	return allowed, why
}

// reading is one interpretation of the contract where it leaves a choice.
type reading struct {
	// byTier are the snapshots that tiers keep. The newest of a period is the one with the latest slot, or with the latest place.
	byTier names
	// slotAged expires by its slot instead of its age, unless nil: the newest one of a selected PVC. Otherwise its slot would be due
	// again at once when the server's clock is behind.
	slotAged *snapshotv1.VolumeSnapshot
}

func (e *evaluation) readings() []reading {
	bySlot, byPlace := e.tierKept(e.sorted), e.tierKept(latestPlaceFirst(e.sorted))
	all := []reading{{byTier: bySlot}, {byTier: byPlace}}
	if newest := e.newest(); newest != nil && e.selected() && slotOf(newest, e.now).After(ageBase(newest, e.now)) {
		all = append(all, reading{byTier: bySlot, slotAged: newest}, reading{byTier: byPlace, slotAged: newest})
	}
	return all
}

func latestPlaceFirst(sorted []*snapshotv1.VolumeSnapshot) []*snapshotv1.VolumeSnapshot {
	result := slices.Clone(sorted)
	slices.SortStableFunc(result, func(a, b *snapshotv1.VolumeSnapshot) int { return placeOf(b).Compare(placeOf(a)) })
	return result
}

// inFloor returns whether a snapshot is one of the newest minReady ready ones, held or not.
func (e *evaluation) inFloor(s *snapshotv1.VolumeSnapshot) bool {
	for i, ready := range readyOnes(e.sorted) {
		if ready == s {
			return i < e.floorOf(e.Spec)
		}
	}
	return false
}

func (v *view) floorOf(spec *Spec) int {
	if v.claim == nil {
		return spec.detachedMinReady
	}
	return spec.minReady
}

type names map[string]bool

// agedOrCapped applies rules 2 and 3.
func (e *evaluation) agedOrCapped(s *snapshotv1.VolumeSnapshot, r reading) (bool, string) {
	byTier := r.byTier
	ttl, keep := e.limits()
	newest := e.newest()
	keptByAge := func(s *snapshotv1.VolumeSnapshot) bool {
		if ttl == 0 { // of a selected PVC the newest stays, or its slot would be due again
			return keep == v1alpha1.Keep{} || s == newest && e.selected()
		}
		return e.withinTTL(s, ttl) || s == r.slotAged && e.now.Sub(slotOf(s, e.now)) < ttl
	}
	if !keptByAge(s) && !byTier[s.Name] {
		return true, "neither its age nor a tier keeps it"
	}
	if e.maxCount == 0 {
		return false, "its age or a tier keeps it, and there is no cap"
	}

	var counted int
	var byAge, tiered []*snapshotv1.VolumeSnapshot
	for _, other := range slices.Backward(readyOnes(e.sorted)) { // oldest first
		if e.held(other) != "" || !keptByAge(other) && !byTier[other.Name] {
			continue
		}
		counted++
		switch {
		case other == newest && e.selected():
		case byTier[other.Name]:
			tiered = append(tiered, other)
		default:
			byAge = append(byAge, other)
		}
	}
	candidates := append(byAge, tiered...)
	place := slices.Index(candidates, s)
	if place < 0 || place >= counted-e.maxCount {
		return false, fmt.Sprintf("its age or a tier keeps it, and there are %d for a cap of %d", counted, e.maxCount)
	}
	return true, "it is beyond the cap"
}

// mustBeDeleted returns whether a ready snapshot expired or is beyond the cap by every reading of the contract.
func (e *evaluation) mustBeDeleted(name string) bool {
	i := slices.IndexFunc(e.sorted, func(s *snapshotv1.VolumeSnapshot) bool { return s.Name == name })
	if i < 0 {
		return false
	}
	s := e.sorted[i]
	if !isReady(s) || e.held(s) != "" || e.inFloor(s) || s == e.newest() || e.sparedForErrors(s) {
		return false
	}
	return !slices.ContainsFunc(e.readings(), func(r reading) bool {
		deletable, _ := e.agedOrCapped(s, r)
		return !deletable
	})
}

// unreadyMustBeDeleted returns whether an unready snapshot has expired.
func (e *evaluation) unreadyMustBeDeleted(s *snapshotv1.VolumeSnapshot) bool {
	ttl, _ := e.limits()
	return ttl > 0 && !e.withinTTL(s, ttl) && !readyToUse(s) && s.DeletionTimestamp == nil &&
		e.held(s) == "" && !e.inProgress(s) && !e.mayRecover(s) && s != e.newest() && !e.sparedForErrors(s)
}

// newest returns the newest snapshot that covers a slot and is not being deleted.
func (e *evaluation) newest() *snapshotv1.VolumeSnapshot {
	for _, s := range e.sorted {
		if _, covers := coveredSlot(s, e.now); covers && s.DeletionTimestamp == nil {
			return s
		}
	}
	return nil
}

// tierKept returns the names that tiers select. A snapshot belongs to the period of its place; order defines the newest of a period.
func (e *evaluation) tierKept(order []*snapshotv1.VolumeSnapshot) names {
	_, keep := e.limits()
	kept := names{}
	for i, s := range readyOnes(e.sorted) {
		if i < int(keep.Last) {
			kept[s.Name] = true
		}
	}
	var recentFirst []*snapshotv1.VolumeSnapshot
	if keep != (v1alpha1.Keep{Last: keep.Last}) {
		recentFirst = readyOnes(latestPlaceFirst(e.sorted))
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
				recent[tier.of(placeOf(s).In(e.zone))] = true
			}
		}
		for _, s := range readyOnes(order) {
			if p := tier.of(placeOf(s).In(e.zone)); recent[p] {
				kept[s.Name] = true
				delete(recent, p)
			}
		}
	}
	return kept
}

// period identifies an hour, a day, a week, a month or a year.
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

func (v *view) mayDeleteImported(s *snapshotv1.VolumeSnapshot) bool {
	if v.schedule == nil {
		return false
	}
	spec, err := ReadSpec(&v.schedule.Spec)
	if err != nil {
		return false
	}
	if isReady(s) && (spec.keep != v1alpha1.Keep{} || spec.maxCount > 0) {
		return true
	}
	return slices.ContainsFunc(v.times(), func(now time.Time) bool {
		e := evaluate(v, spec, now)
		ttl, _ := e.limits()
		return ttl > 0 && !e.withinTTL(s, ttl)
	})
}
