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
)

// releasing are the workloads in which single snapshots are adopted and released.
var releasing = []Workload{
	{
		Name: "adopt", What: "the schedule adopts snapshots without a controller, and leaves those of others alone",
		Prepare: func(ctx context.Context, r *environment.Run) error {
			other, err := createConfigMap(ctx, r)
			if err != nil {
				return err
			}
			return given(spec{},
				claim("data-0", orphan(7*hour), orphan(30*minute), taken{Age: 6 * hour, Foreign: other}),
				claim("data-1", orphan(7*hour), orphan(30*minute)))(ctx, r)
		},
		End: all(owns(4), hasReady(3, "data-0"), hasReady(2, "data-1"), settled(scheduled)),
	},
	{
		Name: "group-member", What: "a member of a VolumeGroupSnapshot has both labels: it is not adopted, and covers no slot",
		Prepare: inOrder(
			given(spec{SnapshotTTL: "1d"}, claim("data-0", ready(7*hour), orphan(72*hour), taken{Name: "member", Age: 10 * minute, Orphan: true})),
			makeMember("data-0-old-1"), makeMember("member")),
		End: all(ownsAllBut("data-0-old-1", "member"), owns(2), settled(scheduled)),
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
		Prepare: given(spec{SnapshotTTL: "1d"}, claim("data-0", taken{Age: 72 * hour, Untagged: true}, ready(7*hour), ready(30*minute))),
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
