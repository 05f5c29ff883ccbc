// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"fmt"
	"slices"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// kept returns why the contract does not allow deleting a snapshot; empty if it does. It follows the text, rule by rule.
func (e *series) kept(s *snapshotv1.VolumeSnapshot) (why string) {
	if why := e.held(s); why != "" {
		return why
	}
	switch {
	case isUncut(s) && (e.claim == nil || e.claim.DeletionTimestamp != nil):
		return ""
	case e.inProgress(s):
		return "it is in progress"
	case isUncut(s) && e.takes() && e.mayBeDue(): // it failed, and is replaced
		return ""
	case e.keepsClaim(s): // it goes, unless it was ready a moment ago
	case IsReady(s):
		why = e.readyKept(s)
	case e.mayRecover(s):
		return "the floor lacks ready ones, and it may have lost its readiness a moment ago"
	default:
		why = e.unreadyKept(s)
	}
	if why == "" && e.keptForErrors(s) {
		return "it would be kept if those were ready that may have lost their readiness a moment ago"
	}
	return why
}

// leaves returns whether the PVC of a snapshot, or one that has the name of its source, is being deleted.
func (e *series) leaves(s *snapshotv1.VolumeSnapshot) bool {
	return e.claim != nil && e.claim.DeletionTimestamp != nil || slices.ContainsFunc(e.claims, func(c *corev1.PersistentVolumeClaim) bool {
		return c.Namespace == s.Namespace && c.Name == sourceOf(s) && c.DeletionTimestamp != nil
	})
}

// keepsClaim returns whether a snapshot that was cut and failed keeps a PVC from being deleted, and may go: a newer one is ready, or as
// many as minReady are.
func (e *series) keepsClaim(s *snapshotv1.VolumeSnapshot) bool {
	failed := !isUncut(s) && !isImported(s) && !readyToUse(s) && inError(s) && e.pastReadyDeadline(s)
	if !e.leaves(s) || !failed || e.mayRecover(s) {
		return false
	}
	ready := readyOnes(e.snapshots)
	newer := len(ready) > 0 && slices.Index(e.snapshots, ready[0]) < slices.Index(e.snapshots, s)
	return newer || len(ready) >= e.floor()
}

// mustBeDeleted returns whether a snapshot has expired or is beyond the cap. The newest is not judged, which expires by its slot, nor is
// a failed one that only waits to be replaced.
func (e *series) mustBeDeleted(s *snapshotv1.VolumeSnapshot) bool {
	ttl, _ := e.limits()
	expired := ttl > 0 && !e.withinTTL(s, ttl) && s.DeletionTimestamp == nil
	return (IsReady(s) || expired) && s != e.newest() && e.kept(s) == ""
}

// importedEarly returns whether an imported snapshot is neither beyond a TTL nor ready under tiers or a cap.
func (e *series) importedEarly(s *snapshotv1.VolumeSnapshot) bool {
	ttl, _ := e.limits()
	counts := IsReady(s) && (e.keep != v1alpha1.Keep{} || e.maxCount > 0)
	return isImported(s) && !counts && (ttl == 0 || e.withinTTL(s, ttl))
}

// keptForErrors returns whether a snapshot would be kept if those were ready that hold data and have an error younger than
// readyDeadline.
func (e *series) keptForErrors(s *snapshotv1.VolumeSnapshot) bool {
	passed, some := *e, false
	passed.snapshots = slices.Clone(e.snapshots)
	for i, other := range e.snapshots {
		if readyToUse(other) || isUncut(other) || !inError(other) || errorAge(other, e.now) >= e.readyDeadline {
			continue
		}
		passed.snapshots[i], some = other.DeepCopy(), true
		passed.snapshots[i].Status.ReadyToUse, passed.snapshots[i].Status.Error = ptr.To(true), nil
	}
	return some && passed.kept(passed.snapshots[slices.Index(e.snapshots, s)]) != ""
}

// mayRecover returns whether a snapshot that holds data is kept although it is not ready: fewer than the floor are, and its error, if
// it has one, is younger than readyDeadline.
func (e *series) mayRecover(s *snapshotv1.VolumeSnapshot) bool {
	_, hasData := cutTime(s)
	return hasData && !IsReady(s) && len(readyOnes(e.snapshots)) < e.floor() && (!inError(s) || errorAge(s, e.now) < e.readyDeadline)
}

// limits returns the TTL and the tiers that apply: those of the spec, unless the series is detached and has a TTL of its own.
func (e *series) limits() (ttl time.Duration, keep v1alpha1.Keep) {
	if !e.selected() && e.detachedTTL > 0 {
		return e.detachedTTL, v1alpha1.Keep{}
	}
	return e.ttl, e.keep
}

func (e *series) withinTTL(s *snapshotv1.VolumeSnapshot, ttl time.Duration) bool {
	return e.now.Sub(ageBase(s, e.now)) < ttl
}

// unreadyKept: by age like others; without a TTL, until a cut one that failed or lost its readiness is older than every ready one that
// is kept.
func (e *series) unreadyKept(s *snapshotv1.VolumeSnapshot) string {
	ttl, keep := e.limits()
	switch {
	case ttl > 0 && e.keptByAge(s):
		return fmt.Sprintf("its age is within the TTL of %s", ttl)
	case ttl > 0:
		return ""
	case keep == v1alpha1.Keep{} && e.maxCount == 0:
		return "without TTL, tiers and cap everything is kept"
	case isImported(s):
		return "it was imported, and no TTL is set"
	case isUncut(s), !e.pastReadyDeadline(s):
		return "it is not ready, and no TTL is set"
	case s == e.newest() && e.selected():
		return "it is the newest of a selected PVC, and no TTL is set"
	}
	kept := slices.DeleteFunc(readyOnes(e.snapshots), func(other *snapshotv1.VolumeSnapshot) bool {
		return e.held(other) == "" && e.readyKept(other) == ""
	})
	younger := func(other *snapshotv1.VolumeSnapshot) bool { return ageBase(other, e.now).After(ageBase(s, e.now)) }
	if len(kept) == 0 || slices.ContainsFunc(kept, func(other *snapshotv1.VolumeSnapshot) bool { return !younger(other) }) {
		return "it is not older than every ready one that is kept, or there is none"
	}
	return ""
}

// readyKept applies rules 2 to 4 to a ready snapshot that is not held.
func (e *series) readyKept(s *snapshotv1.VolumeSnapshot) string {
	byTier := e.tierKept()
	switch {
	case e.inFloor(s):
		return "it belongs to the floor"
	case !byTier[s] && !e.keptByAge(s):
		return ""
	case e.maxCount == 0:
		return "its age or a tier keeps it, and there is no cap"
	}
	var counted int
	var byAge, tiered []*snapshotv1.VolumeSnapshot
	for _, other := range slices.Backward(readyOnes(e.snapshots)) { // oldest first
		if e.held(other) != "" || !byTier[other] && !e.keptByAge(other) {
			continue
		}
		counted++
		switch {
		case e.coversSlot(other):
		case byTier[other]:
			tiered = append(tiered, other)
		default:
			byAge = append(byAge, other)
		}
	}
	place := slices.Index(append(byAge, tiered...), s)
	if place < 0 || place >= counted-e.maxCount {
		return fmt.Sprintf("its age or a tier keeps it, and there are %d for a cap of %d", counted, e.maxCount)
	}
	return ""
}

// keptByAge returns whether the age of a snapshot keeps it. The newest one of a selected PVC stays without a TTL and expires by its
// slot if that is later. Otherwise its slot would be due again at once, as when the server's clock is behind.
func (e *series) keptByAge(s *snapshotv1.VolumeSnapshot) bool {
	ttl, keep := e.limits()
	if ttl == 0 {
		return keep == v1alpha1.Keep{} || e.coversSlot(s)
	}
	return e.withinTTL(s, ttl) || e.coversSlot(s) && e.now.Sub(slotOf(s, e.now)) < ttl
}

// coversSlot returns whether a snapshot is the newest one of a selected PVC.
func (e *series) coversSlot(s *snapshotv1.VolumeSnapshot) bool {
	return s == e.newest() && e.selected()
}

// inFloor returns whether a snapshot is one of the newest ready ones that the floor keeps, held or not.
func (e *series) inFloor(s *snapshotv1.VolumeSnapshot) bool {
	place := slices.Index(readyOnes(e.snapshots), s)
	return place >= 0 && place < e.floor()
}

func (e *series) floor() int {
	if e.claim == nil {
		return e.detachedMinReady
	}
	return e.minReady
}

// tierKept returns the snapshots that tiers select: the newest ones, and of each of the most recent periods the one with the latest place.
func (e *series) tierKept() map[*snapshotv1.VolumeSnapshot]bool {
	_, keep := e.limits()
	kept := map[*snapshotv1.VolumeSnapshot]bool{}
	ready := readyOnes(e.snapshots)
	for _, s := range ready[:min(len(ready), int(keep.Last))] {
		kept[s] = true
	}
	slices.SortStableFunc(ready, func(a, b *snapshotv1.VolumeSnapshot) int { return placeOf(b).Compare(placeOf(a)) })
	week := func(t time.Time) string {
		year, week := t.ISOWeek()
		return fmt.Sprint(year, week)
	}
	in := func(layout string) func(time.Time) string {
		return func(t time.Time) string { return t.Format(layout) }
	}
	for _, tier := range []struct {
		periods int32
		of      func(time.Time) string
	}{
		{keep.Hourly, in("2006-01-02 15 -0700")}, {keep.Daily, in("2006-01-02")}, {keep.Weekly, week}, {keep.Monthly, in("2006-01")},
		{keep.Yearly, in("2006")},
	} {
		seen := map[string]bool{}
		for _, s := range ready {
			if p := tier.of(placeOf(s).In(e.zone)); !seen[p] && len(seen) < int(tier.periods) {
				seen[p], kept[s] = true, true
			}
		}
	}
	return kept
}
