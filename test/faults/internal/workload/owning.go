// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"errors"
	"fmt"
	"slices"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/environment"
)

// twoSeries is a schedule with two PVCs, all served.
func twoSeries(sp spec) func(context.Context, *environment.Run) error {
	return func(ctx context.Context, r *environment.Run) error {
		return on(ctx, r).nightly(age, sp).
			claim("data-0", age, at(7*hour), current()).
			claim("data-1", age, at(7*hour), current()).err
	}
}

func deleteSchedule(when func(environment.State) bool, how metav1.DeletionPropagation) Step {
	return Step{
		What: "delete the schedule, " + string(how),
		When: when,
		Do: func(ctx context.Context, r *environment.Run) error {
			return r.Client.Delete(ctx, environment.Named(&v1alpha1.SnapshotSchedule{}, r.Namespace, nightly), client.PropagationPolicy(how))
		},
	}
}

func nothing(s environment.State) error {
	if len(s.Schedules) > 0 || len(s.Snapshots) > 0 {
		return fmt.Errorf("%d schedules and %d snapshots are left", len(s.Schedules), len(s.Snapshots))
	}
	return nil
}

func deletedBackground() Workload {
	return Workload{
		Name:     "deleted",
		What:     "the schedule is deleted, and the garbage collector takes its snapshots",
		Collects: true,
		Prepare:  twoSeries(spec{}),
		Steps:    []Step{deleteSchedule(settled(v1alpha1.ReasonScheduled), metav1.DeletePropagationBackground)},
		End:      nothing,
	}
}

func deletedForeground() Workload {
	return Workload{
		Name:     "deleted-foreground",
		What:     "the schedule is deleted after its snapshots",
		Collects: true,
		Prepare:  twoSeries(spec{SnapshotTTL: "1d"}),
		Steps:    []Step{deleteSchedule(settled(v1alpha1.ReasonScheduled), metav1.DeletePropagationForeground)},
		End:      nothing,
	}
}

func deletedOrphan() Workload {
	return Workload{
		Name:     "deleted-orphan",
		What:     "the schedule is deleted without its snapshots, made again, and takes them back",
		Collects: true,
		Prepare:  twoSeries(spec{}),
		Steps: []Step{
			deleteSchedule(settled(v1alpha1.ReasonScheduled), metav1.DeletePropagationOrphan),
			{
				What: "make it again",
				When: func(s environment.State) bool { return len(s.Schedules) == 0 && unowned(s, 4) == nil },
				Do: func(ctx context.Context, r *environment.Run) error {
					return r.Client.Create(ctx, &v1alpha1.SnapshotSchedule{
						ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: nightly},
						Spec:       spec{SnapshotInterval: "1h"},
					})
				},
			},
		},
		End: func(s environment.State) error {
			if n := len(s.Owned(s.Schedule(nightly))); n != 6 {
				return fmt.Errorf("the new schedule owns %d snapshots, not 6", n)
			}
			return has(v1alpha1.ReasonScheduled, map[string]int{"data-0": 3, "data-1": 3})(s)
		},
	}
}

// unowned expects that a number of snapshots are there and nobody owns one.
func unowned(s environment.State, n int) error {
	owned := slices.ContainsFunc(s.Snapshots, func(v *snapshotv1.VolumeSnapshot) bool { return len(v.OwnerReferences) > 0 })
	if owned || len(s.Snapshots) != n {
		return fmt.Errorf("there are not just %d snapshots that nobody owns", n)
	}
	return nil
}

func finalized(s environment.State) bool {
	o := s.Schedule(nightly)
	return o != nil && slices.Contains(o.Finalizers, v1alpha1.FinalizerRelease) && isSettled(s, v1alpha1.ReasonScheduled) == nil
}

func policyOrphan() Workload {
	return Workload{
		Name:     "policy-orphan",
		What:     "a schedule whose snapshots are to stay is deleted",
		Collects: true,
		Prepare:  twoSeries(spec{DeletionPolicy: v1alpha1.DeletionOrphan}),
		Steps:    []Step{deleteSchedule(finalized, metav1.DeletePropagationBackground)},
		End: func(s environment.State) error {
			if len(s.Schedules) > 0 {
				return errors.New("the schedule is still there")
			}
			return unowned(s, 4)
		},
	}
}

func namespaceDeleted() Workload {
	return Workload{
		Name:     "namespace",
		What:     "the namespace of a schedule whose snapshots are to stay is deleted",
		Collects: true,
		Slow:     true,
		Prepare:  twoSeries(spec{DeletionPolicy: v1alpha1.DeletionOrphan}),
		Steps: []Step{{
			What: "delete the namespace",
			When: finalized,
			Do: func(ctx context.Context, r *environment.Run) error {
				return r.Client.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: r.Namespace}})
			},
		}},
		End: nothing,
	}
}

func adopted() Workload {
	return Workload{
		Name: "adopt",
		What: "snapshots that nobody owns are taken over, and those of others are let be",
		Prepare: func(ctx context.Context, r *environment.Run) error {
			other := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: "other"}}
			if err := r.Client.Create(ctx, other); err != nil {
				return err
			}
			orphan, mine := environment.Taken{Age: 7 * hour, Orphan: true}, environment.Taken{Age: 30 * minute, Orphan: true}
			foreign := environment.Taken{Age: 6 * hour, Foreign: other}
			return on(ctx, r).nightly(age, spec{}).
				claim("data-0", age, orphan, mine, foreign).
				claim("data-1", age, orphan, mine).err
		},
		End: func(s environment.State) error {
			if n := len(s.Owned(s.Schedule(nightly))); n != 4 {
				return fmt.Errorf("the schedule owns %d snapshots, not 4", n)
			}
			return has(v1alpha1.ReasonScheduled, map[string]int{"data-0": 3, "data-1": 2})(s)
		},
	}
}

func released() Workload {
	relabel := func(what, name, label, value string, when func(environment.State) bool) Step {
		return Step{What: what, When: when, Do: func(ctx context.Context, r *environment.Run) error {
			return r.Patch(ctx, r.Called(name),
				`{"metadata":{"labels":{%q:%s}}}`, label, value)
		}}
	}
	return Workload{
		Name: "release",
		What: "a user takes the labels off snapshots, which takes them out of the schedule",
		Prepare: func(ctx context.Context, r *environment.Run) error {
			if err := twoSeries(spec{})(ctx, r); err != nil {
				return err
			}
			return alsoOwned(ctx, r, "data-1-old-0")
		},
		Steps: []Step{
			relabel("take the map key off", "data-0-old-0", v1alpha1.LabelMapKey, "null", settled(v1alpha1.ReasonScheduled)),
			relabel("name another schedule", "data-1-old-0", v1alpha1.LabelSchedule, `"weekly"`, always),
		},
		End: func(s environment.State) error {
			if v := s.Snapshot("data-1-old-0"); v == nil || len(v.OwnerReferences) != 1 {
				return errors.New("the other owner of data-1-old-0 is lost")
			}
			return errors.Join(free(s, "data-0-old-0", "data-1-old-0"), isSettled(s, v1alpha1.ReasonScheduled))
		},
	}
}

// alsoOwned gives a snapshot an owner beside its controller.
func alsoOwned(ctx context.Context, r *environment.Run, nickname string) error {
	other := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: "other"}}
	if err := r.Client.Create(ctx, other); err != nil {
		return err
	}
	v := r.Called(nickname)
	if err := r.Client.Get(ctx, client.ObjectKeyFromObject(v), v); err != nil {
		return err
	}
	v.OwnerReferences = append(v.OwnerReferences, metav1.OwnerReference{
		APIVersion: "v1", Kind: "ConfigMap", Name: other.Name, UID: other.UID,
	})
	return r.Client.Update(ctx, v)
}

// free expects that nobody controls some snapshots, and the schedule all others.
func free(s environment.State, names ...string) error {
	for _, name := range names {
		if v := s.Snapshot(name); v == nil || metav1.GetControllerOf(v) != nil {
			return fmt.Errorf("snapshot %s is not there without a controller", name)
		}
	}
	if n := len(s.Owned(s.Schedule(nightly))); n != len(s.Snapshots)-len(names) {
		return fmt.Errorf("the schedule owns %d of %d snapshots", n, len(s.Snapshots))
	}
	return nil
}

func releasedUnseen() Workload {
	return Workload{
		Name: "release-unseen",
		What: "a user took the map key off a snapshot while the operator was away",
		Prepare: func(ctx context.Context, r *environment.Run) error {
			return on(ctx, r).nightly(age, spec{SnapshotTTL: "1d"}).
				claim("data-0", age, environment.Taken{Age: 72 * hour, Untagged: true}, at(7*hour), current()).err
		},
		End: func(s environment.State) error {
			return errors.Join(free(s, "data-0-old-0"), isSettled(s, v1alpha1.ReasonScheduled))
		},
	}
}
