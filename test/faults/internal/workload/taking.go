// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/environment"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/plan"
	"mapcontroller.dev/snapshotschedule/test/internal/builders"
)

// missed is what several slots after it were missed.
const missed = 5*hour + 30*minute

var taking = []Workload{
	{
		Name: "first", What: "three PVCs have no snapshot yet",
		Prepare: inOrder(behaves(environment.Behavior{TwoSteps: true}), givenSince(0, spec{}, alike(3)...)),
		End:     all(hasReady(1, "data-0", "data-1", "data-2"), settled(scheduled), expectedNames),
	},
	{
		Name: "tick", What: "a slot falls due while the operator runs",
		Prepare: beforeTick, End: all(hasReady(2, "data-0", "data-1", "data-2"), settled(scheduled)),
	},
	{
		Name: "restart", What: "the operator is upgraded while a slot falls due",
		Prepare: beforeTick, End: all(hasReady(2, "data-0", "data-1", "data-2"), settled(scheduled)),
		Steps: []Step{restart(atLeast(4), "upgrade the operator")},
	},
	{
		// There are so few workers that most keys wait for one, longer than a status waits for its keys.
		Name: "slow-start", What: "each create takes a second; meanwhile the operator is stopped, and started again after an edit",
		Workers: 2, Always: slowCreates,
		Prepare: given(spec{}, alike(4, ready(missed))...),
		// No status describes the present generation when the operator starts.
		Steps: []Step{restart(atLeast(6), "stop the operator, edit the schedule, and start it", edit(`{"snapshotTTL":"30d"}`))},
		End:   all(hasReady(2, "data-0", "data-1", "data-2", "data-3"), settled(scheduled)),
	},
	{
		// The operator looks for a missing kind again only after a minute, or when it starts.
		Name: "kinds-missing",
		What: "when the operator starts, VolumeSnapshots and their classes are not installed; when it starts again, after an edit, they are",
		Always: always(plan.Uninstalled, func(p plan.Point) bool {
			return p.IsDiscovery() && p.Object == "/apis/snapshot.storage.k8s.io/v1" && p.Nth == 1
		}),
		Prepare: given(spec{}, alike(2, ready(missed))...),
		Steps: []Step{restart(func(s state) error {
			if reasonOf(ours(s), v1alpha1.ConditionReady) == v1alpha1.ReasonSnapshotAPIMissing {
				return nil
			}
			return settled(scheduled)(s)
		}, "stop the operator, edit the schedule, and start it", edit(`{"snapshotTTL":"30d"}`))},
		End: all(hasReady(2, "data-0", "data-1"), settled(scheduled)),
	},
	{
		Name: "missed", What: "the operator was down for several slots",
		Prepare: given(spec{}, series("data-0", 5.5), series("data-1", 5.5), series("data-2", .5)),
		End:     all(hasReady(2, "data-0", "data-1"), hasReady(1, "data-2"), settled(scheduled)),
	},
	{
		Name: "run-now", What: "snapshots are requested from a suspended schedule: of all its PVCs, then of one; a request on a PVC is ignored",
		Prepare: given(spec{Suspend: true}, series("data-0", .5), series("data-1", .5)),
		Steps: []Step{
			when(settled(suspended), "request snapshots of all PVCs", request(theSchedule, 10*minute)),
			when(hasReady(2, "data-0", "data-1"), "annotate data-0 with a request", request(theClaim("data-0"), 7*minute)),
			then("request a snapshot of data-1", request(theSchedule, 5*minute, "data-1")),
		},
		End: all(hasReady(2, "data-0"), hasReady(3, "data-1"), settled(suspended)),
	},
	{
		Name: "one-fails", What: "every snapshot of one PVC is refused; the others are taken, and retention continues",
		Broken:  "bad",
		Always:  always(plan.Quota, func(p plan.Point) bool { return isCreate(p) && strings.HasPrefix(p.Object, "bad+") }),
		Prepare: given(spec{SnapshotTTL: "1d"}, series("bad", 50, 20), series("data-0", 50, 5), series("data-1", 50, 5)),
		End:     all(keeps("bad", 1), hasReady(2, "data-0", "data-1"), settled(v1alpha1.ReasonSnapshotsFailing)),
	},
	{
		// The last slot is older than the TTL, so that no snapshot is due.
		Name: "overdue", What: "a snapshot has been uploading for hours, and the TTL is shorter than the interval",
		Prepare: given(spec{SnapshotTTL: "20m"}, claim("data-0", snapshot(missed, unready)), series("data-1", .5)),
		End:     all(hasCount("data-0", 1), hasReady(1, "data-1"), settled(v1alpha1.ReasonSnapshotsFailing)),
	},
	{
		Name: "lost-class",
		What: "the only VolumeSnapshotClass of a driver is deleted and made again; one PVC is excluded, one has another storage class",
		Prepare: inOrder(createClass(nil), given(
			spec{SnapshotTTL: "30d", StorageClassNames: []v1alpha1.StorageClassName{"fast"}},
			series("data-0", 5.5).with((*environment.Run).OfDriver),
			claim("excluded").with((*environment.Run).OfDriver, func(_ *environment.Run, c *corev1.PersistentVolumeClaim) {
				c.Annotations[v1alpha1.AnnotationExclude] = ""
			}),
			claim("slow").with((*environment.Run).OfDriver, func(_ *environment.Run, c *corev1.PersistentVolumeClaim) {
				c.Spec.StorageClassName = ptr.To("slow")
			}))),
		Steps: []Step{
			when(all(hasReady(2, "data-0"), settled(scheduled)), "delete the class", remove(theClass)),
			when(settled(v1alpha1.ReasonSnapshotsFailing), "request a snapshot", request(theSchedule, 10*minute)),
			when(all(settled(v1alpha1.ReasonSnapshotsFailing), problem("data-0", v1alpha1.ReasonNoSnapshotClass)),
				"make the class again", createClass(nil)),
		},
		End: all(hasReady(3, "data-0"), exist("data-0-old-0"), hasCount("excluded", 0), hasCount("slow", 0), settled(scheduled)),
	},
}

// beforeTick prepares PVCs of which a slot falls due 2.5 seconds after the start of the run.
func beforeTick(ctx context.Context, r *environment.Run) error {
	r.Now = r.Now.Add(2500 * time.Millisecond).Truncate(time.Second)
	return givenSince(10*hour, spec{}, alike(3, ready(hour))...)(ctx, r)
}

// restart stops the operator, does something, and starts it.
func restart(due check, what string, meanwhile ...do) Step {
	s := when(due, what, func(ctx context.Context, r *environment.Run) error {
		r.StopOperator()
		defer r.StartOperator()
		return inOrder(meanwhile...)(ctx, r)
	})
	s.Operators = true
	return s
}

// expectedNames fails if the operator names snapshots in another way than builders.SnapshotName, on which every other workload depends.
func expectedNames(s state) error {
	for _, c := range s.Claims {
		want := builders.SnapshotName(ours(s).UID, c, c.CreationTimestamp.Time)
		if of := snapshotsOf(s, c.Name); len(of) == 1 && of[0].Name != want {
			return fmt.Errorf("the snapshot of %s is named %s, want %s: update builders.SnapshotName", c.Name, of[0].Name, want)
		}
	}
	return nil
}

func isCreate(p plan.Point) bool { return p.Verb == "create" && p.Resource == "volumesnapshots" }

// slowCreates makes each create of a snapshot last a second.
var slowCreates = always(plan.Delay, isCreate)

// always injects an action at some points of every run.
func always(action plan.Action, at func(plan.Point) bool) func(plan.Point) plan.Action {
	return func(p plan.Point) plan.Action {
		if at(p) {
			return action
		}
		return ""
	}
}
