// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/environment"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/plan"
	"mapcontroller.dev/snapshotschedule/test/internal/builders"
)

// owning are the workloads in which schedules are deleted, and deletionPolicy says what becomes of their snapshots.
var owning = []Workload{
	{
		Name: "namespace", What: "the namespace of a schedule with deletionPolicy Orphan is deleted",
		Collects: true, Slow: true, Prepare: twoOrphaned,
		Steps: []Step{when(settled(scheduled), "delete the namespace", remove(theNamespace))},
		End:   all(empty, expect(func(s state) bool { return len(s.Namespaces) == 0 }, "the namespace still exists")),
	},
	{
		Name: "deleted", What: "the schedule is deleted, and the garbage collector deletes its snapshots",
		Collects: true, Prepare: given(spec{}, twoSeries...),
		Steps: []Step{when(settled(scheduled), "delete the schedule", removeSchedule(metav1.DeletePropagationBackground))},
		End:   empty,
	},
	{
		Name: "deleted-foreground", What: "the schedule is deleted in the foreground: its snapshots first",
		Collects: true, Prepare: given(spec{SnapshotTTL: "1d"}, twoSeries...),
		Steps: []Step{when(settled(scheduled), "delete the schedule", removeSchedule(metav1.DeletePropagationForeground))},
		End:   empty,
	},
	{
		Name: "deleted-orphan", What: "the schedule is deleted without its snapshots; a new one adopts them",
		Collects: true, Prepare: given(spec{}, twoSeries...),
		Steps: []Step{
			when(settled(scheduled), "delete the schedule", removeSchedule(metav1.DeletePropagationOrphan)),
			when(all(noSchedule, unowned(4)), "create it again", func(ctx context.Context, r *environment.Run) error {
				return r.Client.Create(ctx, builders.Schedule(r.Namespace, nightly, spec{SnapshotInterval: "1h"}))
			}),
		},
		End: all(owns(6), hasReady(3, "data-0", "data-1"), settled(scheduled)),
	},
	{
		Name: "policy-orphan", What: "a snapshot of a schedule with deletionPolicy Orphan is deleted, and then the schedule",
		Collects: true, Prepare: twoOrphaned,
		Steps: []Step{
			when(settled(scheduled), "delete a snapshot", remove(theSnapshot("data-0-old-0"))),
			when(all(settled(scheduled), keeps("data-0", 1)), "delete the schedule", remove(theSchedule)),
		},
		End: all(noSchedule, unowned(3)),
	},
	{
		Name:     "to-orphan",
		What:     "the policy changes to Orphan, and a release is refused at first; once that is observed, the schedule is deleted",
		Collects: true, Prepare: given(spec{}, twoSeries...),
		Always: always(plan.Quota, func(p plan.Point) bool { return p.Verb == "patch" && p.Object == "data-0-old-0" && p.Nth <= 2 }),
		Steps: []Step{
			// Calm, so that no status was written just before: the next one could not come before the refused release is repeated.
			calm(when(settled(scheduled), "set deletionPolicy Orphan", edit(`{"deletionPolicy":"Orphan"}`))),
			when(settled(scheduled), "delete the schedule", removeSchedule(metav1.DeletePropagationForeground)),
		},
		End: all(noSchedule, unowned(4)),
	},
	{
		Name: "to-orphan-unseen", What: "the policy was changed to Orphan while the operator was down, and a map key removed",
		Collects: true,
		Prepare: inOrder(
			given(spec{}, claim("data-0", snapshot(72*hour, untagged), ready(7*hour), ready(30*minute)), series("data-1", .5)),
			edit(`{"deletionPolicy":"Orphan"}`)),
		Steps: []Step{when(settled(scheduled), "delete the schedule", remove(theSchedule))},
		End:   all(noSchedule, unowned(4)),
	},
	{
		Name: "deleted-to-orphan", What: "a schedule is being deleted while references to it are removed",
		Collects: true, Prepare: inOrder(given(spec{}, twoSeries...), patch(theSchedule,
			`{"metadata":{"finalizers":[%q]},"spec":{"deletionPolicy":"Orphan"}}`, v1alpha1.FinalizerRelease), remove(theSchedule)),
		End: all(noSchedule, unowned(4)),
	},
	{
		Name: "from-orphan", What: "the policy changes from Orphan to Delete: the snapshots get their owner back",
		Prepare: twoOrphaned,
		Steps:   []Step{when(settled(scheduled), "set deletionPolicy Delete", edit(`{"deletionPolicy":"Delete"}`))},
		End:     all(owns(4), hasReady(2, "data-0", "data-1"), settled(scheduled)),
	},
}

// twoSeries are two PVCs whose last slots have snapshots.
var twoSeries = []pvc{series("data-0", 7, .5), series("data-1", 7, .5)}

// twoOrphaned prepares the same PVCs, whose snapshots have no owner.
var twoOrphaned = given(spec{DeletionPolicy: v1alpha1.DeletionOrphan}, alike(2, orphan(7*hour), orphan(30*minute))...)

func removeSchedule(how metav1.DeletionPropagation) do {
	return remove(theSchedule, client.PropagationPolicy(how))
}

// releasing are the workloads in which single snapshots are adopted and released.
var releasing = []Workload{
	{
		Name: "adopt", What: "the schedule adopts snapshots without a controller, and leaves those of others alone",
		Prepare: func(ctx context.Context, r *environment.Run) error {
			other, err := createConfigMap(ctx, r)
			if err != nil {
				return err
			}
			foreign := func(v *snapshotv1.VolumeSnapshot) {
				v.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(other, corev1.SchemeGroupVersion.WithKind("ConfigMap"))}
			}
			return given(spec{},
				claim("data-0", orphan(7*hour), orphan(30*minute), snapshot(6*hour, foreign)),
				claim("data-1", orphan(7*hour), orphan(30*minute)))(ctx, r)
		},
		End: all(owns(4), hasReady(3, "data-0"), hasReady(2, "data-1"), settled(scheduled)),
	},
	{
		Name: "group-member", What: "a member of a VolumeGroupSnapshot has both labels: it is not adopted, and covers no slot",
		Prepare: inOrder(
			given(spec{SnapshotTTL: "1d"}, claim("data-0", ready(7*hour), orphan(72*hour), orphan(10*minute))),
			makeMember("data-0-old-1"), makeMember("data-0-old-2")),
		End: all(ownsAllBut("data-0-old-1", "data-0-old-2"), owns(2), settled(scheduled)),
	},
	{
		// The slot is due again, and one of the schedule's own snapshots has its name.
		Name: "slot-edited", What: "a user changes the slot of the newest snapshot: the collision is reported until it is set again",
		Prepare: given(spec{}, series("data-0", 7, .5)),
		Steps: []Step{
			when(settled(scheduled), "change the slot", setSlot("data-0-old-1", "2020-01-01T00:00:00Z")),
			when(all(settled(v1alpha1.ReasonSnapshotsFailing), problem("data-0", v1alpha1.ReasonNameCollision)), "set it again",
				func(ctx context.Context, r *environment.Run) error {
					return setSlot("data-0-old-1", r.Now.Add(-30*minute).UTC().Format(time.RFC3339))(ctx, r)
				}),
		},
		End: all(keeps("data-0", 0, 1), settled(scheduled)),
	},
	{
		Name: "release", What: "a user removes snapshots from the schedule by changing their labels",
		Prepare: inOrder(given(spec{}, twoSeries...), addOwner("data-1-old-0")),
		Steps: []Step{
			when(settled(scheduled), "remove the map key", untag("data-0-old-0")),
			then("name another schedule", rename("data-1-old-0")),
		},
		End: all(ownsAllBut("data-0-old-0", "data-1-old-0"), settled(scheduled),
			each([]string{"data-1-old-0"}, "snapshot %s has lost its other owner", func(v *snapshotv1.VolumeSnapshot) bool {
				return v != nil && len(v.OwnerReferences) == 1
			})),
	},
	{
		Name: "release-unseen", What: "a user removed the map key of a snapshot while the operator was down",
		Prepare: given(spec{SnapshotTTL: "1d"}, claim("data-0", snapshot(72*hour, untagged), ready(7*hour), ready(30*minute))),
		End:     all(ownsAllBut("data-0-old-0"), settled(scheduled)),
	},
}

func setSlot(nickname, slot string) do {
	return annotate(theSnapshot(nickname), v1alpha1.AnnotationScheduledAt, slot)
}

func createConfigMap(ctx context.Context, r *environment.Run) (*corev1.ConfigMap, error) {
	o := environment.Named(&corev1.ConfigMap{}, r.Namespace, "other")
	return o, r.Client.Create(ctx, o)
}

// addOwner gives a snapshot an owner besides its controller.
func addOwner(nickname string) do {
	return func(ctx context.Context, r *environment.Run) error {
		other, err := createConfigMap(ctx, r)
		if err != nil {
			return err
		}
		v := r.Called(nickname)
		if err := r.Client.Get(ctx, client.ObjectKeyFromObject(v), v); err != nil {
			return err
		}
		owner := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: other.Name, UID: other.UID}
		v.OwnerReferences = append(v.OwnerReferences, owner)
		return r.Client.Update(ctx, v)
	}
}

// makeMember makes a snapshot one that the snapshot controller made for a group.
func makeMember(nickname string) do {
	return patch(theSnapshot(nickname), `{"metadata":{"ownerReferences":[{"apiVersion":"groupsnapshot.storage.k8s.io/v1",`+
		`"kind":"VolumeGroupSnapshot","name":"shop","uid":"a5a1b2c3-0000-4000-8000-000000000001"}]}}`)
}
