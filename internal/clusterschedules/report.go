// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterschedules

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
	"mapcontroller.dev/snapshotschedule/internal/report"
)

// reporter turns failed writes into problems, and reports each one that is new, once,
// as a warning event. What is wrong with a child has events on the child.
type reporter struct{ events events.EventRecorder }

// statusWritten returns Status.Written.
func statusWritten(turned *report.Turned) func(now time.Time, before, after client.Object) {
	return func(now time.Time, before, after client.Object) {
		had, has := &before.(*v1alpha1.ClusterSnapshotSchedule).Status, &after.(*v1alpha1.ClusterSnapshotSchedule).Status
		worst := ""
		if len(has.Problems) > 0 {
			p := has.Problems[0]
			worst = problem{Namespace: p.Namespace, Reason: p.Reason, Message: p.Message}.String()
		}
		turned.Warn(now, after, had.Conditions, has.Conditions, worst, v1alpha1.ConditionReady, v1alpha1.ConditionProtected)
	}
}

// report implements Status.OfKey.
func (r reporter) report(parent client.Object, mapKey string, previous, decided any, outcome mapcontroller.Outcome) any {
	before, _ := previous.(*keyStatus)
	after, _ := decided.(*keyStatus)
	if after == nil {
		if len(outcome.Failed) == 0 {
			return nil
		}
		after = &keyStatus{Namespace: mapKey}
	}
	own := *after // status is computed from the decided one meanwhile
	own.Problems = slices.Clone(after.Problems)
	after = &own
	if len(outcome.Created) > 0 {
		// Otherwise the status that follows the creation of many children would count those
		// that the cache already shows, and be written again.
		after.Exists, after.Uncounted = true, true
	}
	if len(outcome.NotAdopted()) > 0 { // it is not its child
		after.Exists, after.Uncounted = false, false
	}
	for _, f := range outcome.Failed {
		p := problemOf(f)
		if slices.ContainsFunc(after.Problems, func(q problem) bool { return q.Reason == p.Reason }) {
			continue
		}
		after.Problems = append(after.Problems, p)
		if before == nil || !slices.Contains(before.Problems, p) {
			r.warn(parent, p)
		}
	}
	slices.SortFunc(after.Problems, problem.compare)
	return after
}

func (r reporter) warn(parent client.Object, p problem) {
	// Events that differ only in their text are counted as one. The related namespace
	// keeps them apart.
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.Namespace}}
	r.events.Eventf(parent, namespace, corev1.EventTypeWarning, p.Reason, actions[p.Reason], "Namespace %s: %s", p.Namespace, p.Message)
}

// actions are what the controller was doing, which the events API requires.
var actions = map[string]string{
	v1alpha1.ReasonCreateFailed:    "Create",
	v1alpha1.ReasonNameCollision:   "Create",
	v1alpha1.ReasonUpdateFailed:    "Update",
	v1alpha1.ReasonDeleteFailed:    "Delete",
	v1alpha1.ReasonReleaseFailed:   "Release",
	v1alpha1.ReasonAdoptionRefused: "Adopt",
}

// problemOf explains a failed write.
func problemOf(f mapcontroller.Failure) problem {
	p := problem{Namespace: f.Object.GetNamespace(), Message: report.Settled(f.Err, f.Object.GetName(), report.MaxProblem)}
	switch f.Verb {
	case mapcontroller.VerbCreate:
		p.Reason = v1alpha1.ReasonCreateFailed
		if errors.Is(f.Err, mapcontroller.ErrNameCollision) {
			p.Reason = v1alpha1.ReasonNameCollision
			p.Message = fmt.Sprintf("SnapshotSchedule %s exists, but does not belong to this ClusterSnapshotSchedule; "+
				"delete it with --cascade=orphan, which keeps its snapshots, or set both labels to have it adopted", f.Object.GetName())
		}
	case mapcontroller.VerbUpdate:
		p.Reason = v1alpha1.ReasonUpdateFailed
	case mapcontroller.VerbDelete:
		p.Reason = v1alpha1.ReasonDeleteFailed
	case mapcontroller.VerbRelease:
		p.Reason = v1alpha1.ReasonReleaseFailed
	case mapcontroller.VerbAdopt:
		p.Reason = v1alpha1.ReasonAdoptionRefused
	}
	p.Message = cmp.Or(p.Message, p.Reason)
	return p
}
