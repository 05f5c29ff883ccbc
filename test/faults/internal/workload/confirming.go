// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"fmt"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	"k8s.io/utils/ptr"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/environment"
)

// confirming are the workloads in which the cache alone would mislead the operator.
var confirming = []Workload{
	{
		Name: "adopt-expired", What: "orphans that have expired, or make others exceed maxCount, are adopted before anything is deleted",
		Prepare: given(spec{Suspend: true, SnapshotTTL: "1d", Retention: v1alpha1.Retention{MaxCount: ptr.To[int32](2)}},
			claim("data-0", orphan(72*hour), ready(48*hour), ready(hour)),
			claim("data-1", ready(72*hour), orphan(hour)),
			claim("data-2", ready(3*hour), orphan(2*hour), ready(hour))),
		End: all(keeps("data-0", 2), keeps("data-1", 1), keeps("data-2", 1, 2), owns(4), settled(suspended)),
	},
	{
		Name: "invalid-release", What: "a user releases snapshots while the spec is invalid, and then deletes the schedule",
		Collects: true, Prepare: given(spec{Schedule: "0 0 30 2 *", SnapshotTTL: "1d"}, twoSeries...),
		Steps: []Step{
			when(settled(v1alpha1.ReasonInvalidSpec), "remove the map key", untag("data-0-old-0")),
			then("name another schedule", rename("data-1-old-0")),
			when(ownsAllBut("data-0-old-0", "data-1-old-0"), "delete the schedule", remove(theSchedule)),
		},
		End: all(noSchedule, exist("data-0-old-0", "data-1-old-0"), unowned(2)),
	},
	{
		Name: "deleting", What: "the schedule is being deleted, and a finalizer of a user's keeps it; the hold of an expired snapshot is removed",
		Prepare: inOrder(heldExpired, patch(theSchedule, `{"metadata":{"finalizers":["example.com/keep"]}}`)),
		Steps: []Step{
			when(settled(suspended), "delete the schedule", remove(theSchedule)),
			when(isBeingDeleted, "remove the hold", unhold("data-0-old-0")),
		},
		End: all(keeps("data-0", 0, 1), each([]string{"data-0-old-0"}, "snapshot %s is held", func(v *snapshotv1.VolumeSnapshot) bool {
			return v != nil && v.Annotations[v1alpha1.AnnotationHold] == ""
		})),
	},
	{
		Name: "other-source", What: "a PVC continues the series of another one, which its snapshots name as their source",
		Prepare: given(spec{Suspend: true, SnapshotTTL: "1d"},
			claim("data-0", snapshot(72*hour, ofPVC("data-before")), snapshot(48*hour, ofPVC("data-before")))),
		End: all(exist("data-0-old-1"), hasCount("data-before", 1), owns(1), settled(suspended)),
	},
	{
		Name: "etcd-restored", What: "etcd is restored while the operator runs: the schedule has another spec under the same UID and generation",
		Prepare: given(spec{Suspend: true, SnapshotTTL: "30d"}, series("data-0", 72, 48, 1)),
		Steps: []Step{
			when(settled(suspended), "restore the schedule", func(ctx context.Context, r *environment.Run) error {
				s := ours(r.State()).DeepCopy()
				s.Spec.SnapshotTTL = "1d"
				s.ResourceVersion = ""
				return r.Put(ctx, s)
			}),
			then("label the PVC", label(theClaim("data-0"), "restored", "true")),
		},
		End: all(keeps("data-0", 2), settled(suspended)),
	},
}

var isBeingDeleted = expectSchedule(func(o *v1alpha1.SnapshotSchedule) bool { return o.DeletionTimestamp != nil },
	"the schedule is not being deleted")

var delaying = []Workload{
	{
		Name: "edit-delay", What: "an edit shortens the TTL and removes the delay; what it would delete is kept until the delay has passed",
		Prepare: given(delayed("30d", "10s"), twoExpiring...),
		Steps: []Step{when(all(settled(suspended), recorded(1)), "shorten the TTL, remove the delay",
			edit(`{"snapshotTTL":"1d","retention":{"editDelay":null}}`))},
		End: all(keeps("data-0", 2), keeps("data-1", 1), settled(suspended)),
	},
	{
		Name: "edit-taken-back", What: "a bad merge sets a TTL of a second and drops retention as a whole; it is noticed, and taken back",
		Prepare: inOrder(given(delayed("30d", "1h"), twoExpiring...), recordLongAgo),
		Steps: []Step{
			when(all(settled(suspended), recorded(1)), "merge badly", edit(`{"snapshotTTL":"1s","retention":null}`)),
			when(all(pausedFor(v1alpha1.ReasonSpecChanged), recorded(2)), "take it back",
				edit(`{"snapshotTTL":"30d","retention":{"editDelay":"1h"}}`)),
		},
		End: all(keepsTwoExpiring, recorded(3), settled(suspended)),
	},
	{
		Name: "edit-confirmed", What: "an edit shortens the TTL, while the generation before it is confirmed; then it is confirmed itself",
		Prepare: given(delayed("30d", "1h"), twoExpiring...),
		Steps: []Step{
			when(all(settled(suspended), recorded(1)), "confirm the first generation", confirm(theSchedule, "1")),
			then("shorten the TTL", edit(`{"snapshotTTL":"1d"}`)),
			when(all(pausedFor(v1alpha1.ReasonSpecChanged), recorded(2), keepsTwoExpiring), "confirm that", confirm(theSchedule, "2")),
		},
		End: all(keeps("data-0", 2), keeps("data-1", 1), recorded(2), settled(suspended)),
	},
	{
		Name:    "record-wiped",
		What:    "the status with the record of an old edit is wiped: the delay starts anew; then the hold of an expired snapshot is removed",
		Prepare: inOrder(given(delayed("1d", "1h"), claim("data-0", held(72*hour), ready(hour))), recordLongAgo),
		Steps: []Step{
			when(all(settled(suspended), recorded(1)), "wipe the status", func(ctx context.Context, r *environment.Run) error {
				return r.PatchStatus(ctx, theSchedule(r), `{"status":null}`)
			}),
			when(all(settled(suspended), recordedAnew), "remove the hold", unhold("data-0-old-0")),
		},
		End: all(keeps("data-0", 0, 1), pausedFor(v1alpha1.ReasonSpecChanged)),
	},
	{
		Name: "name-reused",
		What: "a schedule of a few minutes adopts the snapshots of an earlier one of its name, and deletes none in its first hour",
		Prepare: givenSince(10*minute, spec{Suspend: true, SnapshotTTL: "1m"},
			claim("data-0", orphan(72*hour), orphan(48*hour), ready(8*minute), ready(minute)), claim("data-1", orphan(72*hour), orphan(hour))),
		End: all(keeps("data-0", 0, 1, 3), keeps("data-1", 0, 1), owns(5), pausedFor(v1alpha1.ReasonSnapshotsAdopted)),
	},
}

// delayed is a spec that keeps for a delay what an edit would delete.
func delayed(ttl, delay v1alpha1.Duration) spec {
	return spec{Suspend: true, SnapshotTTL: ttl, Retention: v1alpha1.Retention{EditDelay: delay}}
}

// twoExpiring are PVCs with a snapshot each that a TTL of a day keeps.
var twoExpiring = []pvc{series("data-0", 72, 48, 1), series("data-1", 72, 1)}

var keepsTwoExpiring = all(keeps("data-0", 0, 1, 2), keeps("data-1", 0, 1))

// recordLongAgo gives the first generation of the schedule a record with a delay of an hour that is long past.
func recordLongAgo(ctx context.Context, r *environment.Run) error {
	return r.PatchStatus(ctx, theSchedule(r), `{"status":{"retention":{"generation":1,"sinceTime":%q,"editDelay":"1h"}}}`,
		r.Now.Add(-age).UTC().Format(time.RFC3339))
}

// recordedAnew expects a record that is younger than the schedule by far.
func recordedAnew(s state) error {
	if err := recorded(1)(s); err != nil {
		return err
	}
	o := ours(s)
	if o.Status.Retention.SinceTime.Sub(o.CreationTimestamp.Time) < age-hour {
		return fmt.Errorf("the record is of %s", o.Status.Retention.SinceTime)
	}
	return nil
}
