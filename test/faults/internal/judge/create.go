// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"encoding/json"
	"fmt"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	"k8s.io/apimachinery/pkg/types"
)

// ownDelete is an operator's own delete of a slot's snapshot.
type ownDelete struct {
	name       string
	schedule   types.UID
	generation int64
}

// create judges the create of a snapshot whose name is free.
func (j *AtWrite) create(st *state, a Attempt) {
	v := &snapshotv1.VolumeSnapshot{}
	if err := json.Unmarshal(a.Body, v); err != nil {
		j.fail("cannot be judged", "create of VolumeSnapshot %s: %v", a.Name, err)
		return
	}
	v.Namespace = j.Namespace
	id, ok := slotIDOf(v)
	if !ok {
		j.fail("S1", "VolumeSnapshot %s was created without a schedule or a slot", a.Name)
		return
	}
	for _, c := range []struct{ clause, why string }{
		{"S4", j.takenTwice(st, id)}, {"Slot", j.noSlot(st, id)}, {"Slot", st.blocked(v, a)}, {"FLIGHT-1", j.overLimit(st, v, a)},
	} {
		if c.why != "" {
			j.fail(c.clause, "VolumeSnapshot %s was created %s", a.Name, c.why)
		}
	}
}

// takenTwice returns why a slot must not be taken: a snapshot covers it, or did until the operator deleted it under the present spec.
// An operator whose clock was set back lives through the slot again.
func (j *AtWrite) takenTwice(st *state, id slotID) string {
	for _, o := range st.snapshots {
		if taken, covers := slotIDOf(o); covers && taken == id && !isImported(o) {
			return "for a slot that " + o.Name + " covers"
		}
	}
	s, lost := st.scheduleOf(id.seriesID), j.lost[id]
	if lost.name != "" && !j.ClockIsWrong() && s != nil && s.UID == lost.schedule && s.Generation == lost.generation {
		return "for a slot that " + lost.name + " covered until the operator deleted it"
	}
	return ""
}

// noSlot returns why the time of a snapshot is no slot of its schedule, under any of the specs and requests so far.
func (j *AtWrite) noSlot(st *state, id slotID) string {
	slot, claim := time.Unix(id.slot, 0), st.claims[types.UID(id.mapKey)]
	if claim == nil {
		return "" // it is gone, and the operator does not know yet
	}
	why := ""
	for _, s := range j.versions.schedules {
		if s.UID != id.schedule && byLabels(s.Namespace, s.Name) != id.schedule {
			continue
		}
		r, requested := requestOf(s)
		spec, err := ReadSpec(&s.Spec)
		switch anchor := Anchor(s, claim); {
		case slot.Before(anchor):
			why = "for a time before the anchor"
		case requested && r.at.Equal(slot) && r.isFor(claim.Name), err == nil && spec.mayBeSlot(slot, anchor):
			return ""
		default:
			why = fmt.Sprintf("for %s, which is not a slot of its schedule", slot.UTC().Format(time.RFC3339))
		}
	}
	return why
}

// blocked returns which uncut snapshot of the series the operator must know, because that was there when it started or has been for long.
func (st *state) blocked(v *snapshotv1.VolumeSnapshot, a Attempt) string {
	if !a.Sees {
		return ""
	}
	known := a.Started.Truncate(time.Second)
	if long := time.Now().Add(-ReactionTime); long.After(known) {
		known = long
	}
	for _, other := range st.series[seriesOf(v)] {
		if isUncut(other) && !isReleased(other, v) && other.CreationTimestamp.Time.Before(known) {
			return "while " + other.Name + " existed, which is uncut"
		}
	}
	return ""
}

func (j *AtWrite) overLimit(st *state, v *snapshotv1.VolumeSnapshot, a Attempt) string {
	driver, known := st.driverOf(v)
	if j.MaxInFlight == 0 || !known || !a.Sees {
		return ""
	}
	n := 0
	for _, other := range st.snapshots {
		if of, made := st.driverOf(other); made && of == driver && st.inFlight(other, time.Now()) {
			n++
		}
	}
	if n < j.MaxInFlight {
		return ""
	}
	return fmt.Sprintf("while %d of its driver were in flight, and the limit is %d", n, j.MaxInFlight)
}
