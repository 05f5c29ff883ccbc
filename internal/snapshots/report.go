// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
	"mapcontroller.dev/snapshotschedule/internal/report"
	"mapcontroller.dev/snapshotschedule/internal/snapshots/metrics"
)

// reporter turns failed writes into problems, and reports each problem that is
// new, once, as a warning event.
type reporter struct {
	events   events.EventRecorder
	clock    clock.PassiveClock
	inFlight *inFlight
	metrics  *metrics.Metrics
	deletes  *deletes
	// turned warns of conditions that turn False.
	turned report.Turned
	// origin returns the origin of a schedule, by its Program.Spec.
	origin func(s *v1alpha1.SnapshotSchedule, spec any) origin

	mu sync.Mutex
	// reported are the last reports about schedules themselves. Those of PVCs are in the previous status of their key.
	reported map[aboutSchedule]lastReport
}

// aboutSchedule is what is reported of a schedule: its own problem or, with kept, that snapshots wait to be deleted.
type aboutSchedule struct {
	schedule types.NamespacedName
	kept     bool
}

// lastReport is of one UID: a schedule that is deleted and created again may show as updated, and its problem is new.
type lastReport struct {
	uid             types.UID
	generation      int64
	reason, message string
}

func newReporter(r events.EventRecorder, c clock.PassiveClock, f *inFlight, m *metrics.Metrics) *reporter {
	return &reporter{
		events: r, clock: c, inFlight: f, metrics: m, deletes: newDeletes(f.stores, m), turned: report.Turned{Events: r},
		origin: func(*v1alpha1.SnapshotSchedule, any) origin { return origin{} }, reported: map[aboutSchedule]lastReport{},
	}
}

// report implements Status.OfKey.
func (r *reporter) report(parent client.Object, mapKey string, previous, decided any, outcome mapcontroller.Outcome) any {
	s := parent.(*v1alpha1.SnapshotSchedule)
	before, _ := previous.(*keyStatus)
	after, _ := decided.(*keyStatus)
	r.count(client.ObjectKeyFromObject(s), outcome)
	r.inFlight.done(s.Namespace, outcome)
	r.reportSchedule(s, r.origin(s, outcome.Spec))
	if before == nil || !before.reported {
		before = earlierStatus(s, after, outcome)
	}
	paused, nothing := outcome.Paused != nil || (outcome.Waiting && before.Paused), after == nil
	w := written{schedule: s, mapKey: mapKey, before: before, after: settled(before, after, outcome), outcome: outcome, inFlight: r.inFlight}
	found := w.problems()
	if nothing && len(found) == 0 && !paused {
		return nil
	}
	after = w.after
	for _, p := range found {
		after.addIfNew(p)
	}
	after.carryWords(before, s.Spec.Suspend)
	after.Paused = paused
	r.warnOfNew(s, mapKey, before, after)
	return after
}

// earlierStatus is what an earlier process knew of a key, as far as the status of the schedule says it.
func earlierStatus(s *v1alpha1.SnapshotSchedule, after *keyStatus, outcome mapcontroller.Outcome) *keyStatus {
	before := &keyStatus{}
	if after != nil {
		before.said = &said{error: earlierWords(s, after)}
	}
	if after != nil && after.untried(outcome) { // else the writes of this pass say what is wrong
		before.Problems = slices.DeleteFunc(earlierProblems(s, after), func(p Problem) bool { return !p.ofSlot() })
	}
	return before
}

// statusWritten implements Status.Written.
func (r *reporter) statusWritten(now time.Time, before, after client.Object) {
	had, has := &before.(*v1alpha1.SnapshotSchedule).Status, &after.(*v1alpha1.SnapshotSchedule).Status
	worst := ""
	if len(has.Problems) > 0 {
		p := has.Problems[0]
		worst = Problem{Claim: p.PersistentVolumeClaim, Group: p.Group, Reason: p.Reason, Message: p.Message}.String()
	}
	r.turned.Warn(now, after, had.Conditions, has.Conditions, worst, v1alpha1.ConditionReady, v1alpha1.ConditionProtected)
}

// count counts what became of a plan.
func (r *reporter) count(s types.NamespacedName, outcome mapcontroller.Outcome) {
	if n := len(outcome.Created); n > 0 {
		r.metrics.Created(s, n)
	}
	for _, o := range outcome.Created {
		r.metrics.SlotToCreation(s, r.clock.Since(backup.SlotOf(o)))
	}
	for _, f := range outcome.Failed {
		if !f.BackingOff {
			r.metrics.Refused(s, f.Verb)
		}
	}
	for _, d := range outcome.Deleted {
		r.deletes.accept(d.Object, acceptedDelete{schedule: s, reason: d.Reason, retained: r.inFlight.retained(d.Object)})
	}
}

// warnOfNew reports the problems that a key did not have before.
func (r *reporter) warnOfNew(s *v1alpha1.SnapshotSchedule, mapKey string, before, after *keyStatus) {
	for _, p := range after.Problems {
		if slices.Contains(before.Problems, p) {
			continue
		}
		if p.Reason == v1alpha1.ReasonSnapshotFailed {
			r.metrics.Failed(client.ObjectKeyFromObject(s))
		}
		if _, is := reasonOf(p.Reason); !is.quiet {
			r.warn(s, p)
			if p.Claim != "" && p.Claim == after.Claim {
				r.warnOnClaim(s, types.UID(mapKey), p)
			}
		}
	}
	if after.Paused && !before.Paused {
		r.warn(s, Problem{Reason: v1alpha1.ReasonRetentionPaused, Message: pausedMessage})
	}
	r.warnOfKept(s, after.KeptForNow)
}

// warnOfKept reports that snapshots wait to be deleted, once for each generation of a
// schedule and reason, whichever PVC is reconciled first: an edit concerns all.
func (r *reporter) warnOfKept(s *v1alpha1.SnapshotSchedule, n keptForNow) {
	if n.reason() != "" && r.isNew(s, true, lastReport{uid: s.UID, generation: s.Generation, reason: n.reason()}) {
		r.warn(s, Problem{Reason: v1alpha1.ReasonRetentionPaused, Message: keptWarning(n)})
	}
}

// reportSchedule reports a problem of the schedule itself, whichever PVC is
// reconciled first.
func (r *reporter) reportSchedule(s *v1alpha1.SnapshotSchedule, from origin) {
	if p := scheduleProblem(s, from); r.isNew(s, false, lastReport{uid: s.UID, reason: p.Reason, message: p.Message}) {
		r.warn(s, p)
	}
}

// isNew keeps a report, and returns whether it is another one than the last. Without a reason, there is nothing to report.
func (r *reporter) isNew(s *v1alpha1.SnapshotSchedule, kept bool, found lastReport) bool {
	about := aboutSchedule{client.ObjectKeyFromObject(s), kept}
	r.mu.Lock()
	defer r.mu.Unlock()
	known := r.reported[about]
	if r.reported[about] = found; found.reason == "" {
		delete(r.reported, about)
	}
	return found.reason != "" && known != found
}

// forget drops what is known of a schedule that is deleted.
func (r *reporter) forget(schedule types.NamespacedName) {
	r.turned.Forget(schedule)
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.reported, aboutSchedule{schedule, false})
	delete(r.reported, aboutSchedule{schedule, true})
	r.deletes.forget(schedule)
}

func (r *reporter) warn(s *v1alpha1.SnapshotSchedule, p Problem) {
	if p.Claim == "" {
		message := p.Message
		if p.Group != "" {
			message = fmt.Sprintf("Group %s: %s", p.Group, message)
		}
		r.events.Eventf(s, nil, corev1.EventTypeWarning, p.Reason, action(p.Reason), "%s", message)
		return
	}
	// Events that differ only in their text are counted as one, and only the first
	// text is kept. The related PVC keeps them apart.
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: p.Claim}}
	r.events.Eventf(s, claim, corev1.EventTypeWarning, p.Reason, action(p.Reason),
		"PersistentVolumeClaim %s: %s", p.Claim, p.Message)
}

// warnOnClaim repeats a warning on the PVC. 'kubectl describe pvc' shows only events
// that regard this UID, and whoever uses the PVC may not know of the schedule.
func (r *reporter) warnOnClaim(s *v1alpha1.SnapshotSchedule, uid types.UID, p Problem) {
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: p.Claim, UID: uid}}
	r.events.Eventf(claim, s, corev1.EventTypeWarning, p.Reason, action(p.Reason), "SnapshotSchedule %s: %s", s.Name, p.Message)
}

// action returns what the controller was doing, which the events API requires.
func action(reason string) string {
	if reason == v1alpha1.ReasonRetentionPaused {
		return "Retire"
	}
	_, is := reasonOf(reason)
	return cmp.Or(is.write, "Snapshot")
}
