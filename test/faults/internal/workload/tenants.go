// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/environment"
)

// Workloads in which a tenant works against a ClusterSnapshotSchedule.

// waitsFor expects that retention of the child waits for a reason.
func waitsFor(reason string) check {
	return func(s environment.State) error {
		child := s.Child()
		if child == nil || child.Status.ObservedGeneration != child.Generation || environment.Reason(child, v1alpha1.ConditionRetentionPaused) != reason {
			return fmt.Errorf("retention of the child does not wait: %s", reason)
		}
		return nil
	}
}

// fleetTakenOver: a child without owner and labels is not put back, so that its delay alone keeps the snapshots.
func fleetTakenOver() Workload {
	template := spec{Suspend: true, SnapshotTTL: "30d", DeletionPolicy: v1alpha1.DeletionDelete}
	template.Retention.EditDelay = "1h"
	return Workload{
		Name: "fleet-taken-over",
		What: "with one edit of the child, a tenant takes off its owner and labels, shortens interval and TTL, removes the delay and " +
			"confirms that: nothing is taken, and nothing deleted before the delay has passed",
		Fleet:   true,
		Broken:  "*", // the name of the child stays taken, which is tried again
		Imports: true,
		Prepare: withChild(template, claim("data-0", ready(72*hour), ready(48*hour), ready(hour)), claim("data-1", ready(72*hour), ready(hour))),
		Steps: []Step{patch("take the child over", once(childSettled(v1alpha1.ReasonSuspended), childRecorded(1)), theChild,
			`{"metadata":{"annotations":{%q:"2"},"ownerReferences":null,"labels":null},`+
				`"spec":{"suspend":false,"snapshotInterval":"1s","snapshotTTL":"1d","retention":{"editDelay":null}}}`,
			v1alpha1.AnnotationConfirmGeneration)},
		End: all(keepsTwoExpiring, childRecorded(2), waitsFor(v1alpha1.ReasonSpecChanged), fleetSettled(v1alpha1.ReasonSchedulesFailing, 1, 0, 0)),
	}
}

// childRecorded expects the record of a generation of the child.
func childRecorded(generation int64) check {
	return func(s environment.State) error {
		if o := s.Child(); o == nil || o.Status.Retention == nil || o.Status.Retention.Generation != generation {
			return fmt.Errorf("status.retention of the child has no record of generation %d", generation)
		}
		return nil
	}
}

// fleetCreatesAgain: what was left by an earlier child is kept in the first hour of the next one.
func fleetCreatesAgain() Workload {
	orphan := func(age time.Duration) taken { return taken{Age: age, Orphan: true} }
	return Workload{
		Name: "fleet-creates-again",
		What: "a confirmed ClusterSnapshotSchedule selects a namespace in which an earlier child of its name left expired snapshots; the new child " +
			"adopts them, and deletes none in its first hour",
		Fleet: true,
		Prepare: func(ctx context.Context, r *environment.Run) error {
			f, err := r.Fleet(ctx, age, fleetSpec(spec{Suspend: true, SnapshotTTL: "1d", DeletionPolicy: v1alpha1.DeletionDelete}))
			if err != nil {
				return err
			}
			if err := r.Patch(ctx, theFleet(r), `{"metadata":{"annotations":{%q:"1"}}}`, v1alpha1.AnnotationConfirmGeneration); err != nil {
				return err
			}
			earlier := &v1alpha1.SnapshotSchedule{ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: f.Name}}
			return createClaims(ctx, r, earlier, claim("data-0", orphan(72*hour), orphan(48*hour), orphan(hour)), claim("data-1", orphan(72*hour), orphan(hour)))
		},
		Steps: []Step{patch("select the namespace", once(fleetSettled(v1alpha1.ReasonNoMatchingNamespaces, 0, 0, 0)), theNamespace, selectPatch)},
		End:   all(keepsTwoExpiring, childRecorded(1), waitsFor(v1alpha1.ReasonSnapshotsAdopted), fleetSettled(v1alpha1.ReasonScheduled, 1, 1, 0)),
	}
}

// fleetTakenBack: the operator may see the end of the confirmation later than that of the hold.
func fleetTakenBack() Workload {
	template := spec{Suspend: true, SnapshotTTL: "1d", DeletionPolicy: v1alpha1.DeletionDelete}
	template.Retention.EditDelay = "1h"
	prepare := withChild(template, claim("data-0", taken{Age: 72 * hour, Held: true}, ready(hour)))
	return Workload{
		Name:  "fleet-taken-back",
		What:  "the confirmation of a ClusterSnapshotSchedule is taken back, and then the hold of an expired snapshot: it is kept for the delay",
		Fleet: true,
		Prepare: func(ctx context.Context, r *environment.Run) error {
			if err := prepare(ctx, r); err != nil {
				return err
			}
			return r.Patch(ctx, theFleet(r), `{"metadata":{"annotations":{%q:"1"}}}`, v1alpha1.AnnotationConfirmGeneration)
		},
		Steps: []Step{
			patch("take the confirmation back", once(childSettled(v1alpha1.ReasonSuspended), childRecorded(1),
				fleetSettled(v1alpha1.ReasonScheduled, 1, 1, 0)), theFleet, `{"metadata":{"annotations":{%q:null}}}`, v1alpha1.AnnotationConfirmGeneration),
			patch("remove the hold", once(), theSnapshot("data-0-old-0"), `{"metadata":{"annotations":{%q:null}}}`, v1alpha1.AnnotationHold),
		},
		End: all(keeps("data-0", "data-0-old-0", "data-0-old-1"), waitsFor(v1alpha1.ReasonSpecChanged), fleetSettled(v1alpha1.ReasonScheduled, 1, 1, 0)),
	}
}

// fleetChildHangs: a child that is being deleted takes no snapshots.
func fleetChildHangs() Workload {
	return Workload{
		Name: "fleet-child-hangs",
		What: "a tenant deletes the child, which hangs with a finalizer of theirs: the ClusterSnapshotSchedule is not Ready until it is gone, and " +
			"makes a new one",
		Fleet:   true,
		Prepare: withChild(spec{Suspend: true, DeletionPolicy: v1alpha1.DeletionOrphan}, claim("data-0", orphans(ready(7*hour), current())...)),
		Steps: []Step{
			patch("add a finalizer", once(childSettled(v1alpha1.ReasonSuspended), fleetSettled(v1alpha1.ReasonScheduled, 1, 1, 0)), theChild,
				`{"metadata":{"finalizers":["tenant.example.com/mine"]}}`),
			remove("delete the child", once(), theChild),
			patch("remove the finalizer", once(fleetSettled(v1alpha1.ReasonSchedulesFailing, 1, 1, 0)), theChild, `{"metadata":{"finalizers":null}}`),
		},
		End: all(childSettled(v1alpha1.ReasonSuspended), hasReady("data-0", 2), fleetSettled(v1alpha1.ReasonScheduled, 1, 1, 0)),
	}
}
