// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
	"mapcontroller.dev/snapshotschedule/internal/retention"
	"mapcontroller.dev/snapshotschedule/internal/schedule"
)

type (
	mapRequest = mapcontroller.MapRequest[*v1alpha1.SnapshotSchedule]
	mapResult  = mapcontroller.Result[Note]
)

// restoreLook is how often a snapshot is looked at that would go but for a PVC
// that is being filled from it.
const restoreLook = time.Minute

// clockLook is how often a series is looked at that has a slot which the API
// server's clock had not reached: ours was ahead, and may be right again by now,
// which no event and no timer tells.
const clockLook = 15 * time.Minute

// mapper holds what the decisions need beyond the objects of one PVC.
type mapper struct {
	policies *policies
	// restoring names the snapshots of a namespace that PVCs are being filled
	// from.
	restoring func(namespace string) (map[string]bool, error)
}

// Map says which snapshots a selected PVC should have.
func (m *mapper) Map(r mapRequest) mapResult {
	p, err := m.policies.of(r.Parent)
	if err != nil {
		return keepAll(r)
	}
	restoring, err := m.restoring(r.Parent.Namespace)
	if err != nil {
		// What can't be looked up may be a restore.
		result := keepAll(r)
		result.Next = r.Now.Add(restoreLook)
		return result
	}
	claim := r.Input.(*corev1.PersistentVolumeClaim)
	series := retention.Series{
		Claim:         retention.Selected,
		ClaimDeleting: claim.DeletionTimestamp != nil,
		Snapshots:     snapshotsOf(r.Outputs, restoring),
	}
	anchor := anchorOf(r.Parent, claim)
	forAll, _ := requestedAt(r.Parent)
	forOne, malformed := requestedAt(claim)
	malformed.Claim = claim.Name
	criteria := schedule.Criteria{
		Timeline:         p.rule.Timeline(anchor, schedule.Jitter(string(claim.UID), p.jitter)),
		Requested:        append(forAll, forOne...),
		Suspend:          p.suspend,
		TTL:              p.retention.TTL,
		StartingDeadline: p.startingDeadline,
	}
	slots := criteria.At(r.Now)

	skipped := skip(claim)
	if skipped == "" {
		series.Slot = slots.Current
	}

	result, take := decide(p, r, series)
	if take.Create() {
		result.Outputs = append(result.Outputs, newSnapshot(r.Parent, claim, slots.Current))
	}
	result.Next = earliest(result.Next, slots.Next, slots.Until)
	result.Note = Note{
		LastSnapshot:  lastSlot(series.Snapshots, r.Now),
		RecoveryPoint: recoveryPoint(series.Snapshots, anchor, r.Now),
	}
	if claim.DeletionTimestamp == nil && claim.Status.Phase != corev1.ClaimPending && claim.Status.Phase != "" {
		result.Note.OldestData = result.Note.RecoveryPoint
	}
	result.Note.Pending, result.Note.Failed = unready(p, series.Snapshots, r.Now)
	if malformed.Reason != "" {
		result.Note.add(malformed)
	}
	if skipped != "" {
		result.Note.skip(claim.Name, skipped)
		return result
	}
	result.Note.NextSlot = slots.Next
	if at := failsAt(p, series.Snapshots, r.Now); at.After(r.Now) {
		result.Next = earliest(result.Next, at)
	}
	for _, problem := range troubles(p, series.Snapshots, slots, take, r.Now) {
		problem.Claim = claim.Name
		result.Note.add(problem)
		if problem.Reason == v1alpha1.ReasonSnapshotOverdue && p.retention.TTL > 0 {
			result.Next = earliest(result.Next, slots.Previous.Add(p.retention.TTL))
		}
	}
	return result
}

// Tombstone says which snapshots to keep of a PVC that is gone, or that is
// there but no longer selected.
func (m *mapper) Tombstone(r mapRequest) mapResult {
	p, err := m.policies.of(r.Parent)
	if err != nil {
		return keepAll(r)
	}
	restoring, err := m.restoring(r.Parent.Namespace)
	if err != nil {
		// What can't be looked up may be a restore.
		result := keepAll(r)
		result.Next = r.Now.Add(restoreLook)
		return result
	}
	series := retention.Series{
		Claim:     retention.Gone,
		Snapshots: snapshotsOf(r.Outputs, restoring),
	}
	if r.Input != nil {
		series.Claim = retention.Unselected
		series.ClaimDeleting = r.Input.GetDeletionTimestamp() != nil
	}
	result, _ := decide(p, r, series)
	result.Note = Note{LastSnapshot: lastSlot(series.Snapshots, r.Now)}
	if r.Input != nil && metav1.IsControlledBy(r.Input, r.Parent) {
		// Not mapped: what a schedule makes must not be its own input.
		result.Note.skip(r.Input.GetName(), "controlled by this schedule")
	}
	return result
}

// keepAll is the answer under an invalid spec. The engine does not ask then; a
// spec that it reads live, before a delete, may be one.
func keepAll(r mapRequest) mapResult { return mapResult{Outputs: r.Outputs} }

// decide asks retention about a series.
func decide(p *policy, r mapRequest, series retention.Series) (mapResult, retention.Take) {
	decision := retention.Decide(p.retention, r.Now, series)
	result := mapResult{Outputs: make([]client.Object, 0, len(r.Outputs)+1), Next: decision.Next}
	for i, verdict := range decision.Verdicts {
		if !verdict.Delete() {
			result.Outputs = append(result.Outputs, r.Outputs[i])
		}
		if verdict == retention.HeldByRestore {
			result.Next = earliest(result.Next, r.Now.Add(restoreLook))
		}
	}
	if slices.ContainsFunc(series.Snapshots, isAhead) {
		result.Next = earliest(result.Next, r.Now.Add(clockLook))
	}
	for _, i := range decision.Floor {
		result.Evidence = append(result.Evidence, r.Outputs[i])
	}
	result.Why = func(o client.Object) string {
		if i := slices.Index(r.Outputs, o); i >= 0 {
			return decision.Verdicts[i].String()
		}
		return ""
	}
	return result, decision.Take
}

// isAhead tells whether a snapshot was taken by a clock that was ahead of the API
// server's.
func isAhead(s retention.Snapshot) bool { return s.ScheduledAt.After(s.Created) }

// skip says why a PVC can't be snapshotted now; empty if it can. Its events
// wake it when that changes.
func skip(claim *corev1.PersistentVolumeClaim) string {
	switch {
	case claim.DeletionTimestamp != nil:
		return "being deleted"
	case claim.Status.Phase != corev1.ClaimBound:
		return "not Bound"
	}
	return ""
}

// anchorOf is the time from which a PVC is under a schedule.
func anchorOf(s *v1alpha1.SnapshotSchedule, claim *corev1.PersistentVolumeClaim) time.Time {
	if claim.CreationTimestamp.After(s.CreationTimestamp.Time) {
		return claim.CreationTimestamp.Time
	}
	return s.CreationTimestamp.Time
}

// requestedAt reads the run-now annotation of a schedule or a PVC. One that is
// not a time is a problem, and otherwise ignored.
func requestedAt(o client.Object) (at []time.Time, malformed Problem) {
	value, ok := o.GetAnnotations()[v1alpha1.AnnotationRequestedAt]
	if !ok {
		return nil, Problem{}
	}
	t, err := time.Parse(time.RFC3339, value)
	if err != nil {
		return nil, Problem{
			Reason: v1alpha1.ReasonInvalidRequestedAt,
			Message: fmt.Sprintf("annotation %s is %q; write an RFC 3339 time such as 2026-01-31T12:00:00Z",
				v1alpha1.AnnotationRequestedAt, value),
		}
	}
	return []time.Time{t}, Problem{}
}

// troubles say what is wrong with the snapshots of a PVC that can be
// snapshotted. What the create says comes later (record.go).
func troubles(p *policy, snapshots []retention.Snapshot, slots schedule.Slots, t retention.Take, now time.Time) []Problem {
	var found []Problem
	deadline := p.retention.ReadyDeadline
	if i := retention.Newest(snapshots, now); i >= 0 && failed(&snapshots[i], now, deadline) {
		return append(found, Problem{
			Reason: v1alpha1.ReasonSnapshotFailed,
			Message: fmt.Sprintf("VolumeSnapshot %s is not ready %s after it was created; its status says why",
				snapshots[i].Name, deadline),
		})
	}
	if t.Block == retention.BlockedInProgress && !snapshots[t.Blocker].Uncut() {
		found = append(found, Problem{
			Reason: v1alpha1.ReasonSnapshotSlow,
			Message: fmt.Sprintf("VolumeSnapshot %s is cut but not ready, and the next one waits for it",
				snapshots[t.Blocker].Name),
		})
	}
	if overdue(p, snapshots, slots, now) && !t.Create() {
		message := "no snapshot was taken for a whole slot"
		if t.Block != retention.NotBlocked {
			message += fmt.Sprintf("; VolumeSnapshot %s is in the way", snapshots[t.Blocker].Name)
			if snapshots[t.Blocker].Deleting {
				message += ", being deleted"
			}
		}
		found = append(found, Problem{Reason: v1alpha1.ReasonSnapshotOverdue, Message: message})
	}
	return found
}

// unready counts the snapshots that are not ready, as status counts those that are.
func unready(p *policy, snapshots []retention.Snapshot, now time.Time) (pending, failed int) {
	for i := range snapshots {
		switch s := &snapshots[i]; {
		case s.ReadyToUse:
		case s.State(now, p.retention.ReadyDeadline) == retention.Failed:
			failed++
		default:
			pending++
		}
	}
	return pending, failed
}

// failed tells whether a snapshot has failed, be it already on its way out to
// be replaced: nothing has become better by that.
func failed(s *retention.Snapshot, now time.Time, readyDeadline time.Duration) bool {
	state := s.State(now, readyDeadline)
	return state == retention.Failed ||
		state == retention.Terminating && s.Uncut() && !now.Before(s.Created.Add(readyDeadline))
}

// failsAt is when the newest snapshot fails if it is on its way out and uncut;
// retention looks no more at such a one.
func failsAt(p *policy, snapshots []retention.Snapshot, now time.Time) time.Time {
	i := retention.Newest(snapshots, now)
	if i < 0 || !snapshots[i].Deleting || !snapshots[i].Uncut() {
		return time.Time{}
	}
	return snapshots[i].Created.Add(p.retention.ReadyDeadline)
}

// overdue tells whether the slot before the latest is not served. One whose
// snapshot would have expired since cannot be judged any more.
func overdue(p *policy, snapshots []retention.Snapshot, slots schedule.Slots, now time.Time) bool {
	if slots.Previous.IsZero() || retention.Covered(snapshots, slots.Previous, now) {
		return false
	}
	return p.retention.TTL == 0 || now.Before(slots.Previous.Add(p.retention.TTL))
}

func lastSlot(snapshots []retention.Snapshot, now time.Time) time.Time {
	if i := retention.Newest(snapshots, now); i >= 0 {
		return snapshots[i].Slot(now)
	}
	return time.Time{}
}

// recoveryPoint is how far back one has to go to restore a PVC; without a ready
// snapshot, to before the schedule had it.
func recoveryPoint(snapshots []retention.Snapshot, anchor, now time.Time) time.Time {
	if i := retention.NewestReady(snapshots, now); i >= 0 {
		return snapshots[i].AgeBase(now)
	}
	return anchor
}

// earliest is the first of some times; a zero one means never.
func earliest(times ...time.Time) time.Time {
	var first time.Time
	for _, t := range times {
		if !t.IsZero() && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	return first
}
