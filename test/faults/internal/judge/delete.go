// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

const (
	// guardsWindow is the maximum age of a delete's evidence when it is sent.
	guardsWindow = 5 * time.Second
	// slack is how long a request takes on a busy machine.
	slack = 2 * time.Second
	// maxSkew is --max-clock-skew as shipped.
	maxSkew = time.Minute
)

// GuardsWindow is how long before a delete its guards may have read, as the judge measures it.
const GuardsWindow = guardsWindow + slack

// delete judges a delete that will be made: one whose preconditions do not hold is refused. Clauses about what its request carries and
// its operator has read are here, those about what there was in unallowed: that may have been otherwise when the guards read.
func (j *AtWrite) delete(st *state, a Attempt, v *snapshotv1.VolumeSnapshot) (answered func(code int)) {
	var options metav1.DeleteOptions
	if err := json.Unmarshal(a.Body, &options); err != nil || options.Preconditions == nil ||
		options.Preconditions.UID == nil || options.Preconditions.ResourceVersion == nil {
		j.fail("S5", "VolumeSnapshot %s was deleted without preconditions", a.Name)
		return nothing
	}
	if *options.Preconditions.UID != v.UID || *options.Preconditions.ResourceVersion != v.ResourceVersion || v.DeletionTimestamp != nil {
		return nothing
	}
	seen := st.view(seriesOf(v))
	now := time.Now()
	seen.from, seen.until = now, now
	found := j.unallowed(st, a, v, now)
	if len(found) > 0 && !j.wasAllowed(a, v, now) {
		j.found = append(j.found, found...)
	}
	if seen.schedule == nil {
		return nothing
	}
	if spec, err := ReadSpec(&seen.schedule.Spec); err == nil {
		if why := seen.unread(spec, a, v); why != "" {
			j.fail("S2", "VolumeSnapshot %s was deleted%s", a.Name, why)
		}
	}
	if why := seen.importedEarly(v); why != "" {
		j.fail("S9", "VolumeSnapshot %s was deleted%s", a.Name, why)
	}
	slot, covers := slotIDOf(v)
	return func(code int) {
		j.mu.Lock()
		defer j.mu.Unlock()
		if code < 300 && covers && !isUncut(v) && st.selects(slot.seriesID) && !time.Unix(slot.slot, 0).After(time.Now()) {
			j.lost[slot] = ownDelete{name: v.Name, schedule: seen.schedule.UID, generation: seen.schedule.Generation}
		}
	}
}

// unallowed returns what a delete violates in a state, at a time.
func (j *AtWrite) unallowed(st *state, a Attempt, v *snapshotv1.VolumeSnapshot, now time.Time) (found []string) {
	fail := func(clause, why string) {
		found = append(found, fmt.Sprintf("%s: VolumeSnapshot %s was deleted%s", clause, a.Name, why))
	}
	seen := st.view(seriesOf(v))
	seen.pinVersion(v)
	if seen.schedule == nil {
		fail("S1", ", and "+controlOf(v))
		return found
	}
	spec, err := ReadSpec(&seen.schedule.Spec)
	if err != nil {
		fail("S7", " under an invalid spec: "+err.Error())
		return found
	}
	if why := j.forbidden(st, a, seen, v, now); why != "" {
		fail("S7", why)
	}
	if why := seen.belowFloor(spec, v); why != "" {
		fail("S3", why)
	}
	if may, why := seen.mayDelete(v, now); !may && j.Moments != nil {
		fail("S2", ": "+why)
	}
	return found
}

// wasAllowed returns whether a delete would have been right at a moment at which its guards may have read.
func (j *AtWrite) wasAllowed(a Attempt, v *snapshotv1.VolumeSnapshot, now time.Time) bool {
	if j.Moments == nil {
		return false
	}
	for _, m := range j.Moments(now.Add(-GuardsWindow)) {
		st := stateOf(m.Objects)
		for _, at := range []time.Time{m.Until, m.From} {
			if len(j.unallowed(st, a, v, at)) == 0 {
				return true
			}
		}
	}
	return false
}

// forbidden returns why nothing may be deleted, whatever retention says.
func (j *AtWrite) forbidden(st *state, a Attempt, seen *view, v *snapshotv1.VolumeSnapshot, now time.Time) string {
	switch {
	case seen.schedule.DeletionTimestamp != nil:
		return " while its schedule was being deleted"
	case j.ClockIsWrong():
		return " while the clocks differed"
	case a.Unsynced:
		return " by an operator whose caches had not synced"
	case isUncut(v):
		return "" // it holds no data, and no delay protects it
	}
	return st.delayed(seen.schedule, v, now)
}

func (v *view) belowFloor(spec *Spec, s *snapshotv1.VolumeSnapshot) string {
	if left := len(readyOnes(v.series)) - 1; isReady(s) && v.claim != nil && left < spec.minReady {
		return fmt.Sprintf(": %d ready ones are left of the PVC's series, and minReady is %d", left, spec.minReady)
	}
	return ""
}

// unread returns what the delete depends on and its operator has not read live: the schedule, the PVC, or a part of the floor.
func (v *view) unread(spec *Spec, a Attempt, s *snapshotv1.VolumeSnapshot) string {
	if a.Read == nil {
		return ""
	}
	claim := sourceOf(s)
	if v.claim != nil {
		claim = v.claim.Name
	}
	switch {
	case !a.Read("snapshotschedules", v.schedule.Name):
		return " without a live read of its schedule"
	case !a.Read("persistentvolumeclaims", claim):
		return " without a live read of PVC " + claim
	}
	if may, _ := v.mayDelete(s, v.until); !may || !isReady(s) {
		return "" // the floor was another one when the guards read
	}
	left := v.floorOf(spec)
	for _, other := range readyOnes(v.series) {
		if other != s && a.Read("volumesnapshots", other.Name) {
			left--
		}
	}
	if left > 0 {
		return fmt.Sprintf(" without live reads of the floor: %d more ready ones", left)
	}
	return ""
}

func (v *view) importedEarly(s *snapshotv1.VolumeSnapshot) string {
	if isImported(s) && !v.mayDeleteImported(s) {
		return ", which was imported and is neither beyond a TTL nor ready under tiers or a cap"
	}
	return ""
}

// delayed returns why the delay after an edit, or the first hour of a schedule, forbids a delete.
func (st *state) delayed(s *v1alpha1.SnapshotSchedule, v *snapshotv1.VolumeSnapshot, now time.Time) string {
	own, record := ownDelay(s), s.Status.Retention
	f := st.fleets[s.Name]
	confirmed := fleetOf(s) == "" && confirmsIt(s) ||
		fleetOf(s) != "" && f != nil && confirmsIt(f) && reflect.DeepEqual(childSpec(f, !s.Spec.Suspend), s.Spec)
	now = now.Add(slack)
	switch {
	case confirmed && fleetOf(s) == "":
		return ""
	case confirmed: // which says nothing about what a new child finds
	case record == nil && own > 0, record != nil && record.Generation != s.Generation:
		return fmt.Sprintf(" although status.retention has no record of generation %d", s.Generation)
	case record != nil && now.Before(record.SinceTime.Add(max(own, delayOf(record.EditDelay)))):
		return " before the end of the delay after the edit"
	}
	if v.CreationTimestamp.Before(&s.CreationTimestamp) && now.Before(s.CreationTimestamp.Add(max(newFor, own))) {
		return " although it is older than its schedule, which is new"
	}
	return ""
}
