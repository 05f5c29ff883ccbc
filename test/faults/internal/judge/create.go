// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"encoding/json"
	"fmt"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	"k8s.io/apimachinery/pkg/types"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/internal/builders"
)

// slot is one of a PVC under a schedule.
type slot struct {
	schedule types.UID
	mapKey   string
	at       int64 // Unix seconds
}

// slotOf returns the slot for which a snapshot was taken; not ok if no schedule took it.
func (j *AtWrite) slotOf(v *snapshotv1.VolumeSnapshot) (of slot, ok bool) {
	at, ok := scheduledAt(v)
	of = slot{schedule: controllerOf(v), mapKey: v.Labels[v1alpha1.LabelMapKey], at: at.Unix()}
	if s := j.versions.labeling(v); s != nil {
		of.schedule = s.UID
	}
	return of, ok && of.schedule != "" && of.mapKey != ""
}

// create judges the create of a snapshot whose name is free.
func (j *AtWrite) create(st *state, a Attempt) {
	v := &snapshotv1.VolumeSnapshot{}
	if err := json.Unmarshal(a.Body, v); err != nil {
		j.fail("cannot be judged", "create of VolumeSnapshot %s: %v", a.Name, err)
		return
	}
	v.Namespace = j.Namespace
	of, ok := j.slotOf(v)
	if !ok {
		j.fail("S1", "VolumeSnapshot %s was created without a schedule or a slot", a.Name)
		return
	}
	for _, c := range []struct{ clause, why string }{
		{"S4", j.takenTwice(st, of)}, {"Slot", j.noSlot(st, of)}, {"Slot", j.blocked(st, of, a)}, {"FLIGHT-1", j.overLimit(st, v, a)},
		{"LIMIT-3", j.noPlace(st, of, a)},
	} {
		if c.why != "" {
			j.fail(c.clause, "VolumeSnapshot %s was created %s", a.Name, c.why)
		}
	}
}

// takenTwice returns why a slot must not be taken: a snapshot covers it, or did until the operator deleted it under the present spec.
// An operator whose clock was set back lives through the slot again.
func (j *AtWrite) takenTwice(st *state, of slot) string {
	for _, o := range st.snapshots {
		if taken, covers := j.slotOf(o); covers && taken == of && !isImported(o) {
			return "for a slot that " + o.Name + " covers"
		}
	}
	s, then := withUID(st.schedules, of.schedule), j.lost[of]
	if s != nil && then != nil && then.Generation == s.Generation && !j.ClockIsWrong() {
		return "for a slot that had a snapshot until the operator deleted it"
	}
	return ""
}

// noSlot returns why the time of a snapshot is no slot of its schedule, under any of the specs and requests so far.
func (j *AtWrite) noSlot(st *state, of slot) (why string) {
	at, claim := time.Unix(of.at, 0), st.claims[types.UID(of.mapKey)]
	if claim == nil {
		return "" // it is gone, and the operator does not know yet
	}
	for _, s := range j.versions.schedules {
		if s.UID != of.schedule {
			continue
		}
		spec, err := ReadSpec(&s.Spec)
		switch anchor := Anchor(s, claim); {
		case at.Before(anchor):
			why = "for a time before the anchor"
		case requested(s, claim.Name).Equal(at), err == nil && spec.mayBeSlot(at, anchor):
			return ""
		default:
			why = fmt.Sprintf("for %s, which is not a slot of its schedule", at.UTC().Format(time.RFC3339))
		}
	}
	return why
}

// blocked returns which uncut snapshot of the series the operator must know, because that was there when it started or has been for long.
func (j *AtWrite) blocked(st *state, of slot, a Attempt) string {
	known := later(a.Started.Truncate(time.Second), time.Now().Add(-ReactionTime))
	s := withUID(st.schedules, of.schedule)
	for _, other := range st.snapshots {
		if s != nil && !counts(s, other) {
			continue
		}
		taken, _ := j.slotOf(other)
		taken.at = of.at // any slot of the series
		if a.Sees && taken == of && isUncut(other) && other.CreationTimestamp.Time.Before(known) {
			return "while " + other.Name + " existed, which is uncut"
		}
	}
	return ""
}

// counts returns whether a snapshot is of its schedule's series: not if its user released it by its label, whose reference stays while it is
// being deleted, nor if it can no longer be adopted, because it is being deleted.
func counts(s *v1alpha1.SnapshotSchedule, v *snapshotv1.VolumeSnapshot) bool {
	adopted := controllerOf(v) == s.UID || OwnsByLabels(s)
	return IsTagged(v, s) && (adopted || v.DeletionTimestamp == nil)
}

// overLimit returns how many snapshots of the driver are in flight, if they are too many.
func (j *AtWrite) overLimit(st *state, v *snapshotv1.VolumeSnapshot, a Attempt) string {
	driver, known := st.driverOf(v)
	if j.MaxInFlight == 0 || !known || !a.Sees {
		return ""
	}
	n := 0
	for _, other := range st.snapshots {
		if of, made := st.driverOf(other); made && of == driver && st.inFlight(other) {
			n++
		}
	}
	if n < j.MaxInFlight {
		return ""
	}
	return fmt.Sprintf("while %d of its driver were in flight, and the limit is %d", n, j.MaxInFlight)
}

// noPlace returns how many snapshots of all schedules its PVC has, if it may have no more.
func (j *AtWrite) noPlace(st *state, of slot, a Attempt) string {
	if j.PerVolume == 0 || !a.Sees {
		return ""
	}
	n := 0
	for _, other := range st.snapshots {
		if taken, ok := j.slotOf(other); ok && taken.mapKey == of.mapKey && !isImported(other) {
			n++
		}
	}
	if n < j.PerVolume {
		return ""
	}
	return fmt.Sprintf("while its PVC had %d, and it may have %d", n, j.PerVolume)
}

// driverOf returns the driver of the PVC that is the source of a schedule's snapshot, empty if it is unknown; not ok for one that somebody
// else made: its PVC does not exist, or the operator would have named it differently.
func (st *state) driverOf(v *snapshotv1.VolumeSnapshot) (driver string, ok bool) {
	at, ok := scheduledAt(v)
	for _, c := range st.claims {
		if ok && c.Namespace == v.Namespace && v.Name == builders.SnapshotName(controllerOf(v), c, at) {
			return c.Annotations["volume.kubernetes.io/storage-provisioner"], true
		}
	}
	return "", false
}

// inFlight returns whether a snapshot counts.
func (st *state) inFlight(v *snapshotv1.VolumeSnapshot) bool {
	limit := time.Hour
	if s := withUID(st.schedules, controllerOf(v)); s != nil {
		if spec, err := ReadSpec(&s.Spec); err == nil {
			limit = min(limit, max(spec.readyDeadline, time.Minute))
		}
	}
	return isUncut(v) && v.DeletionTimestamp == nil && time.Since(v.CreationTimestamp.Time) < limit
}
