// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/environment"
)

// Workloads in which the cache alone would mislead the operator.

func adoptedExpired() Workload {
	return Workload{
		Name:    "adopt-expired",
		What:    "orphans that have expired, or make others exceed maxCount, are adopted before anything is deleted",
		Deletes: true,
		Prepare: given(spec{Suspend: true, SnapshotTTL: "1d", Retention: v1alpha1.Retention{MaxCount: ptr.To[int32](2)}},
			claim("data-0", taken{Age: 72 * hour, Orphan: true}, ready(48*hour), ready(hour)),
			claim("data-1", ready(72*hour), taken{Age: hour, Orphan: true}),
			claim("data-2", ready(3*hour), taken{Age: 2 * hour, Orphan: true}, ready(hour))),
		End: all(keeps("data-0", "data-0-old-2"), keeps("data-1", "data-1-old-1"), keeps("data-2", "data-2-old-1", "data-2-old-2"),
			owns(4), settled(v1alpha1.ReasonSuspended)),
	}
}

func releasedInvalid() Workload {
	return Workload{
		Name:     "invalid-release",
		What:     "a user releases snapshots while the spec is invalid, and then deletes the schedule",
		Collects: true,
		Prepare:  twoSeries(spec{Schedule: "0 0 30 2 *", SnapshotTTL: "1d"}),
		Steps: []Step{
			patch("remove the map key", once(settled(v1alpha1.ReasonInvalidSpec)), theSnapshot("data-0-old-0"),
				`{"metadata":{"labels":{%q:null}}}`, v1alpha1.LabelMapKey),
			patch("name another schedule", once(), theSnapshot("data-1-old-0"),
				`{"metadata":{"labels":{%q:"weekly"}}}`, v1alpha1.LabelSchedule),
			remove("delete the schedule", once(ownsAllBut("data-0-old-0", "data-1-old-0")), theSchedule,
				client.PropagationPolicy(metav1.DeletePropagationBackground)),
		},
		End: all(noSchedule, exist("data-0-old-0", "data-1-old-0"), unowned(2)),
	}
}

func releasedAndEdited() Workload {
	return Workload{
		Name: "release-edit",
		What: "a user releases the newest snapshots of two PVCs and shortens the TTL; the floor keeps the expired ones that are left",
		Prepare: given(spec{Suspend: true, SnapshotTTL: "30d"},
			claim("data-0", ready(72*hour), ready(hour)),
			claim("data-1", ready(72*hour), ready(hour))),
		Steps: []Step{
			patch("remove the map key", once(settled(v1alpha1.ReasonSuspended)), theSnapshot("data-0-old-1"),
				`{"metadata":{"labels":{%q:null}}}`, v1alpha1.LabelMapKey),
			patch("name another schedule", once(), theSnapshot("data-1-old-1"),
				`{"metadata":{"labels":{%q:"weekly"}}}`, v1alpha1.LabelSchedule),
			patch("shorten the TTL", once(), theSchedule, `{"spec":{"snapshotTTL":"1d"}}`),
		},
		End: all(ownsAllBut("data-0-old-1", "data-1-old-1"), keeps("data-0", "data-0-old-0", "data-0-old-1"),
			keeps("data-1", "data-1-old-0", "data-1-old-1"), settled(v1alpha1.ReasonSuspended)),
	}
}

func movedAndEdited() Workload {
	return Workload{
		Name:    "move-edit",
		What:    "a user gives the newest snapshot of one PVC to another one and shortens the TTL; the floor of the first keeps the rest",
		Deletes: true,
		Prepare: given(spec{Suspend: true, SnapshotTTL: "30d"},
			claim("data-0", ready(72*hour), ready(hour)),
			claim("data-1", ready(72*hour), ready(hour))),
		Steps: []Step{
			{
				What: "change the map key",
				When: once(settled(v1alpha1.ReasonSuspended)),
				Do: func(ctx context.Context, r *environment.Run) error {
					return r.Patch(ctx, r.Called("data-1-old-1"), `{"metadata":{"labels":{%q:%q}}}`,
						v1alpha1.LabelMapKey, r.State().Claim("data-0").UID)
				},
			},
			patch("shorten the TTL", once(), theSchedule, `{"spec":{"snapshotTTL":"1d"}}`),
		},
		End: all(isDeleted("data-0-old-0"), exist("data-0-old-1", "data-1-old-0", "data-1-old-1"), owns(3),
			settled(v1alpha1.ReasonSuspended)),
	}
}

// heldExpired creates a schedule, and a PVC with an expired snapshot that only a hold keeps.
func heldExpired(ctx context.Context, r *environment.Run) error {
	return given(spec{Suspend: true, SnapshotTTL: "1d"}, claim("data-0", taken{Age: 72 * hour, Held: true}, ready(hour)))(ctx, r)
}

func editedAndUnheld() Workload {
	return Workload{
		Name:    "edit-hold",
		What:    "the TTL is lengthened, so that an expired snapshot is no longer expired, and then its hold is removed",
		Prepare: heldExpired,
		Steps: []Step{
			patch("lengthen the TTL", once(settled(v1alpha1.ReasonSuspended)), theSchedule, `{"spec":{"snapshotTTL":"60d"}}`),
			patch("remove the hold", once(), theSnapshot("data-0-old-0"), `{"metadata":{"annotations":{%q:null}}}`, v1alpha1.AnnotationHold),
		},
		End: all(keeps("data-0", "data-0-old-0", "data-0-old-1"), settled(v1alpha1.ReasonSuspended)),
	}
}

func deleting() Workload {
	return Workload{
		Name: "deleting",
		What: "the schedule is being deleted, and a finalizer of a user's keeps it; the hold of an expired snapshot is removed",
		Prepare: func(ctx context.Context, r *environment.Run) error {
			if err := heldExpired(ctx, r); err != nil {
				return err
			}
			return r.Patch(ctx, theSchedule(r), `{"metadata":{"finalizers":["example.com/keep"]}}`)
		},
		Steps: []Step{
			remove("delete the schedule", once(settled(v1alpha1.ReasonSuspended)), theSchedule),
			patch("remove the hold", func(s environment.State) bool { return s.Schedule(nightly).DeletionTimestamp != nil },
				theSnapshot("data-0-old-0"), `{"metadata":{"annotations":{%q:null}}}`, v1alpha1.AnnotationHold),
		},
		End: func(s environment.State) error {
			if v := s.Snapshot("data-0-old-0"); v == nil || len(v.Annotations[v1alpha1.AnnotationHold]) > 0 {
				return errors.New("data-0-old-0 does not exist without a hold")
			}
			return keeps("data-0", "data-0-old-0", "data-0-old-1")(s)
		},
	}
}

func otherSource() Workload {
	return Workload{
		Name:    "other-source",
		What:    "a PVC continues the series of another one, which its snapshots name as their source",
		Deletes: true,
		Prepare: func(ctx context.Context, r *environment.Run) error {
			s, err := r.Schedule(ctx, nightly, age, spec{SnapshotInterval: "1h", Suspend: true, SnapshotTTL: "1d"})
			if err != nil {
				return err
			}
			c, err := r.Claim(ctx, "data-0", age, nil)
			if err != nil {
				return err
			}
			source := c.DeepCopy()
			source.Name = "data-before"
			if err := r.Snapshot(ctx, s, source, taken{Name: "data-0-old-0", Age: 72 * hour}); err != nil {
				return err
			}
			return r.Snapshot(ctx, s, source, taken{Name: "data-0-old-1", Age: 48 * hour})
		},
		End: all(keeps("data-before", "data-0-old-1"), owns(1), settled(v1alpha1.ReasonSuspended)),
	}
}

func etcdRestored() Workload {
	return Workload{
		Name:    "etcd-restored",
		What:    "etcd is restored while the operator runs: the schedule has another spec under the same UID and generation",
		Deletes: true,
		Prepare: given(spec{Suspend: true, SnapshotTTL: "30d"}, claim("data-0", ready(72*hour), ready(48*hour), ready(hour))),
		Steps: []Step{
			{
				What: "restore the schedule",
				When: once(settled(v1alpha1.ReasonSuspended)),
				Do: func(ctx context.Context, r *environment.Run) error {
					s := r.State().Schedule(nightly).DeepCopy()
					s.Spec.SnapshotTTL = "1d"
					return r.Overwrite(ctx, s)
				},
			},
			patch("label the PVC", func(s environment.State) bool { return s.Schedule(nightly).Spec.SnapshotTTL == "1d" },
				theClaim("data-0"), `{"metadata":{"labels":{"restored":"true"}}}`),
		},
		End: all(keeps("data-0", "data-0-old-2"), settled(v1alpha1.ReasonSuspended)),
	}
}
