// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"fmt"
	"slices"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/history"
)

const (
	// servedWithin is how long after it fell due a snapshot must have been asked
	// for, and an expired one deleted, on a machine that has much to do.
	servedWithin = 10 * time.Second
	// looks is how often a window is looked into.
	looks = 20
)

// L3: while one PVC can't be snapshotted, those of the other PVCs are taken and
// deleted as ever. A window in which a PVC is broken has to be longer than
// servedWithin, and free of other faults for as long, or nothing can be said.
func L3(h *history.History) []Violation {
	var found []Violation
	judged, windows := false, 0
	for _, w := range h.Windows {
		if w.Kind != history.Broken {
			continue
		}
		windows++
		first, end := w.From.Add(servedWithin), endOf(w, h)
		for i := range looks {
			at := end.Add(-end.Sub(first) * time.Duration(i) / looks)
			if at.Before(first) {
				break
			}
			judged = true
			if !disturbed(h, at.Add(-servedWithin), at) {
				found = append(found, neglected(h, at, w.Object)...)
			}
		}
	}
	if windows > 0 && !judged {
		found = append(found, Violation{Oracle: "L3", At: h.Ended, Change: -1, Request: -1, Message: fmt.Sprintf(
			"no PVC was broken for longer than %s, so that nothing could be judged", servedWithin)})
	}
	return dedup(found)
}

func disturbed(h *history.History, from, until time.Time) bool {
	return slices.ContainsFunc(h.Windows, func(w history.Window) bool {
		switch w.Kind {
		case history.Faulty, history.Skewed, history.Unsynced:
			return w.From.Before(until) && (w.Until.IsZero() || w.Until.After(from))
		}
		return false
	})
}

// dedup keeps the first report of each object.
func dedup(all []Violation) []Violation {
	seen := map[string]bool{}
	return slices.DeleteFunc(all, func(v Violation) bool {
		had := seen[v.Message]
		seen[v.Message] = true
		return had
	})
}

// neglected are the series, other than that of the broken PVC, that should have
// been looked after by a time.
func neglected(h *history.History, at time.Time, broken string) []Violation {
	then, _ := worldAt(h, at.Add(-servedWithin))
	now, last := worldAt(h, at)
	var found []Violation
	tell := func(message string) {
		found = append(found, Violation{Oracle: "L3", At: at, Change: last, Request: -1,
			Message: message + ", while PVC " + broken + " was broken"})
	}
	for uid, schedule := range now.schedules {
		was := then.schedules[uid]
		if was == nil || was.Generation != schedule.Generation || schedule.DeletionTimestamp != nil {
			continue
		}
		for claimUID, claim := range now.claims {
			if claim.Namespace != schedule.Namespace || claim.Namespace+"/"+claim.Name == broken || then.claims[claimUID] == nil {
				continue
			}
			id := seriesID{schedule: uid, mapKey: string(claimUID)}
			before, after := then.view(id), now.view(id)
			if slot, ok := unserved(before, after, at); ok {
				tell(fmt.Sprintf("PVC %s/%s got no snapshot for slot %s", claim.Namespace, claim.Name, slot.UTC().Format(time.RFC3339)))
			}
			for _, s := range leftover(before, after, at) {
				tell(fmt.Sprintf("VolumeSnapshot %s/%s was not deleted", s.Namespace, s.Name))
			}
		}
	}
	return found
}

// unserved is a slot that was due throughout and has no snapshot, although
// nothing was in its way.
func unserved(then, now *view, at time.Time) (time.Time, bool) {
	t, ok := undisturbedTerms(then, now)
	if !ok {
		return time.Time{}, false
	}
	slot := t.surelyDue(then, at)
	if slot.IsZero() || !newestSlot(now.series, at).Before(slot) || !newestSlot(then.series, at).Before(slot) {
		return time.Time{}, false
	}
	for _, v := range []*view{then, now} {
		q := question{view: v, terms: t, now: at, sorted: newestFirst(v.series, at)}
		for _, s := range v.series {
			if isUncut(s) || q.underWay(s) {
				return time.Time{}, false
			}
		}
	}
	return slot, true
}

// undisturbedTerms fails where a PVC could not be snapshotted throughout.
func undisturbedTerms(then, now *view) (*terms, bool) {
	t, err := readTerms(&now.schedule.Spec)
	if err != nil {
		return nil, false
	}
	for _, v := range []*view{then, now} {
		q := question{view: v, terms: t}
		if !q.selected() || v.claim.DeletionTimestamp != nil || v.claim.Status.Phase != corev1.ClaimBound {
			return nil, false
		}
	}
	return t, true
}

// surelyDue is the latest slot that was due for the whole of servedWithin,
// whatever the jitter. Zero: none.
func (t *terms) surelyDue(v *view, at time.Time) time.Time {
	anchor, by := anchorOf(v.schedule, v.claim), at.Add(-servedWithin)
	var slot time.Time
	if requested, ok := requestedAt(v.schedule); ok && !requested.Before(anchor) && !requested.After(by) {
		slot = requested
	}
	if requested, ok := requestedAt(v.claim); ok && !requested.Before(anchor) && !requested.After(by) && requested.After(slot) {
		slot = requested
	}
	if base := by.Add(-t.jitter); !t.suspend && t.interval > 0 && !base.Before(anchor) {
		if tick := anchor.Add(base.Sub(anchor).Truncate(t.interval)); tick.After(slot) {
			slot = tick
		}
	} else if !t.suspend && t.cron != nil {
		if tick, ok := t.cron.lastFiring(base, anchor, time.UTC); ok && t.zone == time.UTC && tick.After(slot) {
			slot = tick
		}
	}
	age := at.Sub(slot)
	if t.ttl > 0 && age >= t.ttl || t.startDeadline > 0 && age >= t.startDeadline {
		return time.Time{}
	}
	return slot
}

// leftover are the ready snapshots that age or the cap should have taken
// throughout, by every reading of the contract.
func leftover(then, now *view, at time.Time) []*snapshotv1.VolumeSnapshot {
	t, err := readTerms(&now.schedule.Spec)
	if err != nil {
		return nil
	}
	var found []*snapshotv1.VolumeSnapshot
	for _, s := range now.series {
		overdue := true
		for _, moment := range []struct {
			*view
			at time.Time
		}{{then, at.Add(-servedWithin)}, {now, at}} {
			q := question{view: moment.view, terms: t, now: moment.at, sorted: newestFirst(moment.series, moment.at)}
			overdue = overdue && q.surelyGoes(s.Name)
		}
		if overdue {
			found = append(found, s)
		}
	}
	return found
}

func (q *question) surelyGoes(name string) bool {
	i := slices.IndexFunc(q.sorted, func(s *snapshotv1.VolumeSnapshot) bool { return s.Name == name })
	if i < 0 {
		return false
	}
	s := q.sorted[i]
	if !isReady(s) || q.held(s) != "" || q.inFloor(s) || s == q.newestStanding() {
		return false
	}
	for _, r := range q.readings() {
		if goes, _ := q.agedOrCapped(s, r); !goes {
			return false
		}
	}
	return true
}
