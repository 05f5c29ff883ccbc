// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/environment"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/plan"
)

// twoSeries creates two PVCs whose last slots have snapshots.
func twoSeries(sp spec) func(context.Context, *environment.Run) error {
	return given(sp, claim("data-0", ready(7*hour), current()), claim("data-1", ready(7*hour), current()))
}

// scheduleDeleted deletes the schedule when a check holds.
func scheduleDeleted(name, what string, sp spec, when check, how metav1.DeletionPropagation, end check) Workload {
	return Workload{
		Name: name, What: what, Collects: true, Prepare: twoSeries(sp), End: end,
		Steps: []Step{remove("delete the schedule, "+string(how), once(when), theSchedule, client.PropagationPolicy(how))},
	}
}

func deletedBackground() Workload {
	return scheduleDeleted("deleted", "the schedule is deleted, and the garbage collector deletes its snapshots",
		spec{}, settled(v1alpha1.ReasonScheduled), metav1.DeletePropagationBackground, empty)
}

func deletedForeground() Workload {
	return scheduleDeleted("deleted-foreground", "the schedule is deleted in the foreground: its snapshots first",
		spec{SnapshotTTL: "1d"}, settled(v1alpha1.ReasonScheduled), metav1.DeletePropagationForeground, empty)
}

func deletedOrphan() Workload {
	w := scheduleDeleted("deleted-orphan", "the schedule is deleted without its snapshots; a new one adopts them",
		spec{}, settled(v1alpha1.ReasonScheduled), metav1.DeletePropagationOrphan,
		all(owns(6), hasReady("data-0", 3), hasReady("data-1", 3), settled(v1alpha1.ReasonScheduled)))
	w.Steps = append(w.Steps, Step{
		What: "create the schedule again",
		When: once(noSchedule, unowned(4)),
		Do: func(ctx context.Context, r *environment.Run) error {
			return r.Client.Create(ctx, &v1alpha1.SnapshotSchedule{
				ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: nightly},
				Spec:       spec{SnapshotInterval: "1h"},
			})
		},
	})
	return w
}

// orphans are of a schedule with deletionPolicy Orphan.
func orphans(snapshots ...taken) []taken {
	for i := range snapshots {
		snapshots[i].Orphan = true
	}
	return snapshots
}

// twoOrphaned creates two PVCs whose snapshots have no owner.
func twoOrphaned() func(context.Context, *environment.Run) error {
	return given(spec{DeletionPolicy: v1alpha1.DeletionOrphan},
		claim("data-0", orphans(ready(7*hour), current())...), claim("data-1", orphans(ready(7*hour), current())...))
}

func policyOrphan() Workload {
	return Workload{
		Name: "policy-orphan", What: "a snapshot of a schedule with deletionPolicy Orphan is deleted, and then the schedule",
		Collects: true, Prepare: twoOrphaned(),
		Steps: []Step{
			remove("delete a snapshot", once(settled(v1alpha1.ReasonScheduled)), theSnapshot("data-0-old-0")),
			remove("delete the schedule", once(settled(v1alpha1.ReasonScheduled), keeps("data-0", "data-0-old-1")), theSchedule),
		},
		End: all(noSchedule, unowned(3)),
	}
}

const (
	orphanPatch           = `{"spec":{"deletionPolicy":"Orphan"}}`
	toOrphanWithFinalizer = `{"metadata":{"finalizers":["` + v1alpha1.FinalizerRelease + `"]},"spec":{"deletionPolicy":"Orphan"}}`
)

func toOrphan() Workload {
	return Workload{
		Name:     "to-orphan",
		What:     "the policy changes to Orphan, and a release is refused at first; once that is observed, the schedule is deleted in the foreground",
		Collects: true, Prepare: twoSeries(spec{}), End: all(noSchedule, unowned(4)),
		Always: func(p plan.Point) plan.Action {
			if p.Verb == "patch" && p.Object == "data-0-old-0" && p.Nth <= 2 {
				return plan.Quota
			}
			return ""
		},
		Steps: []Step{
			// Calm, so that no status was written just before: the next one could not come before the refused release is repeated.
			calm(patch("set deletionPolicy Orphan", once(settled(v1alpha1.ReasonScheduled)), theSchedule, orphanPatch)),
			remove("delete the schedule", once(settled(v1alpha1.ReasonScheduled)), theSchedule,
				client.PropagationPolicy(metav1.DeletePropagationForeground)),
		},
	}
}

// prepared makes further changes after a preparation, before the operator starts.
func prepared(first func(context.Context, *environment.Run) error, steps ...Step) func(context.Context, *environment.Run) error {
	return func(ctx context.Context, r *environment.Run) error {
		err := first(ctx, r)
		for _, step := range steps {
			if err == nil {
				err = step.Do(ctx, r)
			}
		}
		return err
	}
}

func toOrphanUnseen() Workload {
	return Workload{
		Name: "to-orphan-unseen", What: "the policy was changed to Orphan while the operator was down, and a map key removed",
		Collects: true,
		Prepare: prepared(
			given(spec{}, claim("data-0", taken{Age: 72 * hour, Untagged: true}, ready(7*hour), current()), claim("data-1", current())),
			patch("", nil, theSchedule, orphanPatch)),
		Steps: []Step{remove("delete the schedule", once(settled(v1alpha1.ReasonScheduled)), theSchedule)},
		End:   all(noSchedule, unowned(4)),
	}
}

// toOrphanLate has a reference that no cache shows if the operator is shown the past. The
// finalizer is there already: its event would not be shown either.
func toOrphanLate() Workload {
	snapshots := orphans(ready(7*hour), current())
	return Workload{
		Name: "to-orphan-late", What: "after the policy was changed to Orphan, another manager, which had not seen that, took one more snapshot",
		Collects: true,
		Prepare: prepared(given(spec{}, claim("data-0", snapshots...)), patch("", nil, theSchedule, toOrphanWithFinalizer), Step{
			Do: func(ctx context.Context, r *environment.Run) error {
				s, c := &v1alpha1.SnapshotSchedule{}, &corev1.PersistentVolumeClaim{}
				err := errors.Join(r.Client.Get(ctx, client.ObjectKeyFromObject(theSchedule(r)), s),
					r.Client.Get(ctx, client.ObjectKeyFromObject(theClaim("data-0")(r)), c))
				if err != nil {
					return err
				}
				return r.Snapshot(ctx, s, c, taken{Name: "data-0-late", Age: 10 * minute})
			},
		}),
		Steps: []Step{remove("delete the schedule", once(settled(v1alpha1.ReasonScheduled)), theSchedule)},
		End:   all(noSchedule, unowned(3)),
	}
}

func deletedToOrphan() Workload {
	return Workload{
		Name: "deleted-to-orphan", What: "a schedule is being deleted while references to it are removed",
		Collects: true,
		Prepare: prepared(twoSeries(spec{}),
			patch("", nil, theSchedule, toOrphanWithFinalizer),
			remove("", nil, theSchedule)),
		End: all(noSchedule, unowned(4)),
	}
}

func fromOrphan() Workload {
	return Workload{
		Name: "from-orphan", What: "the policy changes from Orphan to Delete: the snapshots get their owner back", Prepare: twoOrphaned(),
		Steps: []Step{
			patch("set deletionPolicy Delete", once(settled(v1alpha1.ReasonScheduled)), theSchedule, `{"spec":{"deletionPolicy":"Delete"}}`),
		},
		End: all(owns(4), hasReady("data-0", 2), hasReady("data-1", 2), settled(v1alpha1.ReasonScheduled)),
	}
}

func namespaceDeleted() Workload {
	return Workload{
		Name:     "namespace",
		What:     "the namespace of a schedule with deletionPolicy Orphan is deleted",
		Collects: true,
		Slow:     true,
		Prepare:  twoOrphaned(),
		Steps: []Step{remove("delete the namespace", once(settled(v1alpha1.ReasonScheduled)), func(r *environment.Run) client.Object {
			return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: r.Namespace}}
		})},
		End: all(empty, func(s environment.State) error {
			if s.Namespace != nil {
				return errors.New("the namespace still exists")
			}
			return nil
		}),
	}
}

func adopted() Workload {
	return Workload{
		Name: "adopt",
		What: "the schedule adopts snapshots without a controller, and leaves those of others alone",
		Prepare: func(ctx context.Context, r *environment.Run) error {
			other, err := createConfigMap(ctx, r)
			if err != nil {
				return err
			}
			orphan, current := taken{Age: 7 * hour, Orphan: true}, taken{Age: 30 * minute, Orphan: true}
			return create(ctx, r, age, spec{},
				claim("data-0", orphan, current, taken{Age: 6 * hour, Foreign: other}),
				claim("data-1", orphan, current))
		},
		End: all(owns(4), hasReady("data-0", 3), hasReady("data-1", 2), settled(v1alpha1.ReasonScheduled)),
	}
}

// groupMember has a snapshot with both labels that the snapshot controller made for a group.
func groupMember() Workload {
	const owners = `{"metadata":{"ownerReferences":[{"apiVersion":"groupsnapshot.storage.k8s.io/v1","kind":"VolumeGroupSnapshot",` +
		`"name":"shop","uid":"a5a1b2c3-0000-4000-8000-000000000001"}]}}`
	return Workload{
		Name: "group-member", What: "a member of a VolumeGroupSnapshot has both labels: it is not adopted, and covers no slot",
		Prepare: prepared(
			given(spec{SnapshotTTL: "1d"}, claim("data-0", ready(7*hour), taken{Age: 72 * hour, Orphan: true}, taken{Age: 10 * minute, Orphan: true, Name: "member"})),
			patch("", nil, theSnapshot("data-0-old-1"), owners), patch("", nil, theSnapshot("member"), owners)),
		End: all(ownsAllBut("data-0-old-1", "member"), owns(2), settled(v1alpha1.ReasonScheduled)),
	}
}

// slotEdited makes a slot due again whose name one of the schedule's own snapshots has.
func slotEdited() Workload {
	newest := theSnapshot("data-0-old-1")
	return Workload{
		Name: "slot-edited", What: "a user changes the slot of the newest snapshot: the collision is reported until it is set again",
		Prepare: given(spec{}, claim("data-0", ready(7*hour), current())),
		Steps: []Step{
			patch("change the slot", once(settled(v1alpha1.ReasonScheduled)), newest,
				`{"metadata":{"annotations":{%q:"2020-01-01T00:00:00Z"}}}`, v1alpha1.AnnotationScheduledAt),
			{
				What: "set it again",
				When: once(settled(v1alpha1.ReasonSnapshotsFailing), problem("data-0", v1alpha1.ReasonNameCollision)),
				Do: func(ctx context.Context, r *environment.Run) error {
					return r.Patch(ctx, newest(r), `{"metadata":{"annotations":{%q:%q}}}`,
						v1alpha1.AnnotationScheduledAt, r.Now.Add(-current().Age).UTC().Format(time.RFC3339))
				},
			},
		},
		End: all(keeps("data-0", "data-0-old-0", "data-0-old-1"), settled(v1alpha1.ReasonScheduled)),
	}
}

func released() Workload {
	return Workload{
		Name: "release",
		What: "a user removes snapshots from the schedule by changing their labels",
		Prepare: func(ctx context.Context, r *environment.Run) error {
			if err := twoSeries(spec{})(ctx, r); err != nil {
				return err
			}
			return addOwner(ctx, r, "data-1-old-0")
		},
		Steps: []Step{
			patch("remove the map key", once(settled(v1alpha1.ReasonScheduled)), theSnapshot("data-0-old-0"),
				`{"metadata":{"labels":{%q:null}}}`, v1alpha1.LabelMapKey),
			patch("name another schedule", once(), theSnapshot("data-1-old-0"),
				`{"metadata":{"labels":{%q:"weekly"}}}`, v1alpha1.LabelSchedule),
		},
		End: all(ownsAllBut("data-0-old-0", "data-1-old-0"), settled(v1alpha1.ReasonScheduled), func(s environment.State) error {
			if v := s.Snapshot("data-1-old-0"); v == nil || len(v.OwnerReferences) != 1 {
				return errors.New("data-1-old-0 has lost its other owner")
			}
			return nil
		}),
	}
}

// addOwner gives a snapshot an owner besides its controller.
func addOwner(ctx context.Context, r *environment.Run, nickname string) error {
	other, err := createConfigMap(ctx, r)
	if err != nil {
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

func releasedUnseen() Workload {
	return Workload{
		Name: "release-unseen",
		What: "a user removed the map key of a snapshot while the operator was down",
		Prepare: given(spec{SnapshotTTL: "1d"},
			claim("data-0", taken{Age: 72 * hour, Untagged: true}, ready(7*hour), current())),
		End: all(ownsAllBut("data-0-old-0"), settled(v1alpha1.ReasonScheduled)),
	}
}
