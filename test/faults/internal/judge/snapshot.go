// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
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
func (j *AtWrite) create(st *State, a Attempt) {
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
	j.judgeInFlight(st, a)
	for _, c := range []struct{ clause, why string }{
		{"S4", j.takenTwice(st, of)}, {"Slot", j.noSlot(st, of)}, {"Slot", j.blocked(st, of, a)}, {"MAP-3", st.unnamedVolume(v, of)},
	} {
		if c.why != "" {
			j.fail(c.clause, "VolumeSnapshot %s was created %s", a.Name, c.why)
		}
	}
	j.creators[a.Name] = a.Started
}

// takenTwice returns why a slot must not be taken: a snapshot covers it, or did until the operator deleted it under the present spec.
// An operator whose clock was set back lives through the slot again.
func (j *AtWrite) takenTwice(st *State, of slot) string {
	for _, o := range st.Snapshots {
		if taken, covers := j.slotOf(o); covers && taken == of && !isImported(o) {
			return "for a slot that " + o.Name + " covers"
		}
	}
	s, then := withUID(st.Schedules, of.schedule), j.lost[of]
	if s != nil && then != nil && then.Generation == s.Generation && !j.ClockIsWrong() {
		return "for a slot that had a snapshot until the operator deleted it"
	}
	return ""
}

// noSlot returns why the time of a snapshot is no slot of its schedule, under any of the specs and requests so far.
func (j *AtWrite) noSlot(st *State, of slot) (why string) {
	at, claim := time.Unix(of.at, 0), withUID(st.Claims, types.UID(of.mapKey))
	if claim == nil {
		return "" // it is gone, and the operator does not know yet
	}
	for _, s := range j.versions {
		if s.UID != of.schedule {
			continue
		}
		spec, err := ReadSpec(&s.Spec)
		e := st.series(spec, s, of.mapKey, time.Now())
		switch {
		case e.requested().Equal(at), err == nil && e.latestSlot(at.Add(-1), at).Equal(at):
			return ""
		case at.Before(e.first()):
			why = "for a time before the anchor"
		default:
			why = fmt.Sprintf("for %s, which is not a slot of its schedule", at.UTC().Format(time.RFC3339))
		}
	}
	return why
}

// unnamedVolume returns why a new snapshot does not name the volume of its PVC.
func (st *State) unnamedVolume(v *snapshotv1.VolumeSnapshot, of slot) string {
	claim := withUID(st.Claims, types.UID(of.mapKey))
	if claim == nil || v.Annotations["snapshots.mapcontroller.dev/volume"] == claim.Spec.VolumeName {
		return ""
	}
	return "without the annotation of its PVC's volume, " + claim.Spec.VolumeName
}

// blocked returns which uncut snapshot of the series the operator must know, because that was there when it started or has been for long.
func (j *AtWrite) blocked(st *State, of slot, a Attempt) string {
	known := later(a.Started.Truncate(time.Second), time.Now().Add(-reactionTime))
	s := withUID(st.Schedules, of.schedule)
	for _, other := range st.Snapshots {
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

const (
	// reactionTime is within what time an operator on a busy machine is shown what there is.
	reactionTime = 10 * time.Second
	// guardsWindow is the maximum age of a delete's evidence when it is sent.
	guardsWindow = 5 * time.Second
	// newFor is how long a schedule deletes nothing that is older than itself.
	newFor = time.Hour
	// slack is how long a request takes on a busy machine.
	slack = 2 * time.Second
	// maxSkew is --max-clock-skew as shipped.
	maxSkew = time.Minute
)

// GuardsWindow is how long before a delete its guards may have read, as the judge measures it.
const GuardsWindow = guardsWindow + slack

// delete judges a delete that will be made: one whose preconditions do not hold is refused. Clauses about what its request carries and
// its operator has read are here, those about what there was in unallowed: that may have been otherwise when the guards read.
func (j *AtWrite) delete(st *State, a Attempt, v *snapshotv1.VolumeSnapshot) (answered func(code int)) {
	var options metav1.DeleteOptions
	if err := json.Unmarshal(a.Body, &options); err != nil || options.Preconditions == nil ||
		options.Preconditions.UID == nil || options.Preconditions.ResourceVersion == nil {
		j.fail("S5", "VolumeSnapshot %s was deleted without preconditions", a.Name)
		return nothing
	}
	if *options.Preconditions.UID != v.UID || *options.Preconditions.ResourceVersion != v.ResourceVersion || v.DeletionTimestamp != nil {
		return nothing
	}
	now := time.Now()
	if found := j.unallowed(st, a, v, now); len(found) > 0 && !j.wasAllowed(a, v, now) {
		j.found = append(j.found, found...)
	}
	s := st.ownerOf(v)
	if s == nil {
		return nothing
	}
	of, covers := j.slotOf(v)
	covers = covers && !isUncut(v) && !time.Unix(of.at, 0).After(now)
	if spec, err := ReadSpec(&s.Spec); err == nil {
		e := st.series(spec, s, v.Labels[v1alpha1.LabelMapKey], now)
		covers = covers && e.selected()
		if why := e.unread(a, v); why != "" {
			j.fail("S2", "VolumeSnapshot %s was deleted without %s", a.Name, why)
		}
		if n := j.terminating(e, a); n >= mostTerminating && e.takesPlace(v) {
			j.fail("RET-16", "VolumeSnapshot %s was deleted while %d of its series were being deleted", a.Name, n)
		}
	}
	return func(code int) {
		j.mu.Lock()
		defer j.mu.Unlock()
		if code >= 300 {
			return
		}
		if j.deleters[v.UID] = a.Started; covers {
			j.lost[of] = s
		}
	}
}

// mostTerminating is how many snapshots of a series that were cut are being deleted at most, when retention deletes another one.
const mostTerminating = 10

// terminating returns how many snapshots of a series that were cut are being deleted as an operator must know: it has deleted them, or others
// had before it started or have for long.
func (j *AtWrite) terminating(e *series, a Attempt) (n int) {
	known := later(a.Started.Truncate(time.Second), time.Now().Add(-reactionTime))
	for _, v := range e.snapshots {
		by, own := j.deleters[v.UID]
		own = own && by.Equal(a.Started)
		if at := v.DeletionTimestamp; at != nil && !isUncut(v) && (own || a.Sees && at.Time.Before(known)) {
			n++
		}
	}
	return n
}

// takesPlace returns whether a delete waits while too many do not end: not of one without data, nor of one that keeps its PVC from going.
func (e *series) takesPlace(s *snapshotv1.VolumeSnapshot) bool {
	return !isUncut(s) && (readyToUse(s) || !e.leaves(s))
}

// unallowed returns what a delete violates in a state, at a time.
func (j *AtWrite) unallowed(st *State, a Attempt, v *snapshotv1.VolumeSnapshot, now time.Time) (found []string) {
	fail := func(clause, why string) {
		found = append(found, fmt.Sprintf("%s: VolumeSnapshot %s was deleted %s", clause, a.Name, why))
	}
	s := st.ownerOf(v)
	if s == nil {
		fail("S1", "although no schedule owns it, and "+controlOf(v))
		return found
	}
	spec, err := ReadSpec(&s.Spec)
	if err != nil {
		fail("S7", "under an invalid spec: "+err.Error())
		return found
	}
	if why := j.forbidden(a, s, v, now); why != "" {
		fail("S7", why)
	}
	e := st.series(spec, s, v.Labels[v1alpha1.LabelMapKey], now)
	if left := len(readyOnes(e.snapshots)) - 1; IsReady(v) && e.claim != nil && left < e.minReady {
		fail("S3", fmt.Sprintf("and %d ready ones are left of the PVC's series, and minReady is %d", left, e.minReady))
	}
	if why := e.kept(v); why != "" && j.Moments != nil {
		fail("S2", "although "+why)
	}
	if e.importedEarly(v) {
		fail("S9", "although it was imported and is neither beyond a TTL nor ready under tiers or a cap")
	}
	return found
}

// wasAllowed returns whether a delete would have been right at a moment at which its guards may have read. Its preconditions guarantee
// that it is about this version of the snapshot.
func (j *AtWrite) wasAllowed(a Attempt, v *snapshotv1.VolumeSnapshot, now time.Time) bool {
	if j.Moments == nil {
		return false
	}
	for _, m := range j.Moments(now.Add(-GuardsWindow)) {
		others := slices.DeleteFunc(slices.Clone(m.Objects), func(o client.Object) bool { return o.GetUID() == v.UID })
		st := StateOf(append(others, v))
		for _, at := range []time.Time{m.Until, m.From} {
			if len(j.unallowed(st, a, v, at)) == 0 {
				return true
			}
		}
	}
	return false
}

// forbidden returns why nothing may be deleted, whatever retention says.
func (j *AtWrite) forbidden(a Attempt, s *v1alpha1.SnapshotSchedule, v *snapshotv1.VolumeSnapshot, now time.Time) string {
	switch {
	case s.DeletionTimestamp != nil:
		return "while its schedule was being deleted"
	case j.ClockIsWrong():
		return "while the clocks differed"
	case a.Unsynced:
		return "by an operator whose caches had not synced"
	case isUncut(v):
		return "" // it holds no data, and no delay protects it
	}
	return delayed(s, v, now.Add(slack))
}

// unread returns which live reads a delete depends on that its operator has not made: of the schedule, the PVC, or a part of the floor.
func (e *series) unread(a Attempt, s *snapshotv1.VolumeSnapshot) string {
	claim := sourceOf(s)
	if e.claim != nil {
		claim = e.claim.Name
	}
	switch {
	case a.Read == nil:
		return ""
	case !a.Read("snapshotschedules", e.schedule.Name):
		return "a live read of its schedule"
	case !a.Read("persistentvolumeclaims", claim):
		return "a live read of PVC " + claim
	case e.kept(s) != "" || !IsReady(s):
		return "" // the floor was another one when the guards read
	}
	left := e.floor()
	for _, other := range readyOnes(e.snapshots) {
		if other != s && a.Read("volumesnapshots", other.Name) {
			left--
		}
	}
	if left > 0 {
		return fmt.Sprintf("live reads of the floor: %d more ready ones", left)
	}
	return ""
}

// delayed returns why the delay after an edit, or the first hour of a schedule, forbids a delete.
func delayed(s *v1alpha1.SnapshotSchedule, v *snapshotv1.VolumeSnapshot, now time.Time) string {
	own, record := delayOf(s.Spec.Retention.EditDelay), s.Status.Retention
	switch {
	case s.Annotations[v1alpha1.AnnotationConfirmGeneration] == strconv.FormatInt(s.Generation, 10):
		return ""
	case record == nil && own > 0, record != nil && record.Generation != s.Generation:
		return fmt.Sprintf("although status.retention has no record of generation %d", s.Generation)
	case record != nil && now.Before(record.SinceTime.Add(max(own, delayOf(record.EditDelay)))):
		return "before the end of the delay after the edit"
	}
	if v.CreationTimestamp.Before(&s.CreationTimestamp) && now.Before(s.CreationTimestamp.Add(max(newFor, own))) {
		return "although it is older than its schedule, which is new"
	}
	return ""
}

func delayOf(text v1alpha1.Duration) time.Duration {
	d, err := readDuration(text)
	if err != nil {
		return longest
	}
	return d
}

// patch judges a patch of a snapshot: an adoption, or the removal of a reference to a schedule.
func (j *AtWrite) patch(st *State, a Attempt, before *snapshotv1.VolumeSnapshot) {
	var change struct {
		Metadata map[string]json.RawMessage `json:"metadata"`
		Spec     json.RawMessage            `json:"spec"`
		Status   json.RawMessage            `json:"status"`
	}
	var version string
	var owners []metav1.OwnerReference
	if err := json.Unmarshal(a.Body, &change); err != nil || change.Spec != nil || change.Status != nil {
		j.fail("S1", "the patch of VolumeSnapshot %s is not of its metadata: %s", a.Name, a.Body)
		return
	}
	_ = json.Unmarshal(change.Metadata["resourceVersion"], &version)
	if version != before.ResourceVersion {
		return // it is refused
	}
	for field, value := range change.Metadata {
		switch field {
		case "resourceVersion", "uid":
		case "ownerReferences":
			_ = json.Unmarshal(value, &owners) // null: none
		default:
			j.fail("S1", "the patch of VolumeSnapshot %s changes its %s", a.Name, field)
		}
	}
	after := before.DeepCopy()
	after.OwnerReferences = owners
	switch {
	case equality.Semantic.DeepEqual(before.OwnerReferences, owners):
		return // nothing changes, as when an adoption is undone that was refused
	case withUID(st.Schedules, controllerOf(before)) != nil || controllerOf(before) != "" && controllerOf(after) == "":
		return // its schedule's own, or released
	}
	if why := st.notAdoptable(before, after); why != "" {
		j.fail("S1", "VolumeSnapshot %s: %s", a.Name, why)
	}
}

// notAdoptable returns why a patch of a snapshot that no schedule controls is not the adoption of an orphan.
func (st *State) notAdoptable(before, after *snapshotv1.VolumeSnapshot) string {
	s := withUID(st.Schedules, controllerOf(after))
	switch {
	case metav1.GetControllerOfNoCopy(before) != nil, controllerOf(after) == "":
		return "it was patched, and " + controlOf(before)
	case before.DeletionTimestamp != nil:
		return "it was adopted while it was being deleted"
	case before.Labels[v1alpha1.LabelMapKey] == "":
		return "it was adopted without a map key"
	case slices.ContainsFunc(before.OwnerReferences, isGroup):
		return "it was adopted, and is a member of a VolumeGroupSnapshot"
	case s == nil || s.DeletionTimestamp != nil || OwnsByLabels(s) || s.Name != before.Labels[v1alpha1.LabelSchedule]:
		return "it was adopted by a schedule that is gone or being deleted, that owns by labels, or that its label does not name"
	}
	return ""
}
