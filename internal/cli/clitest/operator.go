// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package clitest

import (
	"reflect"
	"slices"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// Operator plans as the operator does: its Compile, its kinds, and objects as its
// cache holds them.
type Operator struct {
	t        *rapid.T
	schedule *v1alpha1.SnapshotSchedule
	planner  *mapcontroller.Planner
	cached   func(client.Object) client.Object
}

// NewOperator returns an operator that decides about a schedule.
func NewOperator(t *rapid.T, s *v1alpha1.SnapshotSchedule) *Operator {
	compiled, err := snapshots.Compile(s)
	if err != nil {
		t.Fatal(err)
	}
	c := snapshots.MapController(snapshots.Options{Stores: snapshots.NewStores()}, nil, 0)
	planner, err := c.Planner(term.Scheme, s, compiled)
	if err != nil {
		t.Fatal(err)
	}
	byKind := snapshots.CacheOptions(snapshots.NewStores()).ByObject
	return &Operator{t: t, schedule: s, planner: planner, cached: func(o client.Object) client.Object {
		for kind, options := range byKind {
			if reflect.TypeOf(kind) == reflect.TypeOf(o) {
				stripped, err := options.Transform(o.DeepCopyObject())
				if err != nil {
					t.Fatal(err)
				}
				return stripped.(client.Object)
			}
		}
		t.Fatalf("%T is not cached", o)
		return nil
	}}
}

// Plan returns the plan of one pass.
func (op *Operator) Plan(now time.Time, of *view.Series) mapcontroller.Plan {
	seen := mapcontroller.Observation{Now: now, MapKey: of.MapKey}
	if of.Claim != nil {
		seen.Selected, seen.Unselected = op.planner.Partition(of.MapKey, op.cached(of.Claim))
	}
	for _, o := range of.Snapshots {
		seen.Outputs = append(seen.Outputs, op.cached(o))
	}
	for _, o := range of.Restores {
		seen.Related = append(seen.Related, op.cached(o))
	}
	return op.planner.Plan(seen)
}

// Deletes returns the name and the reason of each delete.
func Deletes(removals []mapcontroller.Removal) []string {
	names := []string{}
	for _, r := range removals {
		names = append(names, r.Object.GetName()+" "+r.Reason)
	}
	slices.Sort(names)
	return names
}

// Names returns the names of objects.
func Names(objects []client.Object) []string {
	all := []string{}
	for _, o := range objects {
		all = append(all, o.GetName())
	}
	slices.Sort(all)
	return all
}

// DrawCase draws a schedule and a series under it.
func DrawCase(t *rapid.T) (s *v1alpha1.SnapshotSchedule, found *view.Series, now time.Time) {
	now = Start.AddDate(0, 3, 0).Add(time.Duration(rapid.IntRange(0, 7*24*3600).Draw(t, "now")) * time.Second)
	s = Schedule("nightly", DrawSpec(t))
	return s, drawSeries(t, s, now), now
}

// Simulate returns what happens to a series under the operator in three days, if every
// snapshot is ready at once.
func (op *Operator) Simulate(of *view.Series, now, until time.Time) (ends map[string]time.Time, taken []string) {
	return op.SimulateWith(Misfortune{}, of, now, until)
}

// Misfortune is what happens to a series without the operator: the storage does nothing for some time, and the PVC is deleted.
// A time that is zero does not come.
type Misfortune struct{ FailsFrom, FailsUntil, Gone time.Time }

// fails returns whether the storage does nothing at a time.
func (m Misfortune) fails(now time.Time) bool {
	return !now.Before(m.FailsFrom) && now.Before(m.FailsUntil)
}

// next returns the earliest of a time and of those at which something happens.
func (m Misfortune) next(now, next time.Time) time.Time {
	for _, at := range []time.Time{m.FailsUntil, m.Gone} {
		if at.After(now) && (!next.After(now) || at.Before(next)) {
			next = at
		}
	}
	return next
}

// SimulateWith is Simulate with a misfortune. Deletes count when they are decided.
func (op *Operator) SimulateWith(m Misfortune, of *view.Series, now, until time.Time) (ends map[string]time.Time, taken []string) {
	state := *of
	state.Snapshots = nil
	for _, o := range of.Snapshots {
		state.Snapshots = append(state.Snapshots, o.DeepCopyObject().(client.Object))
	}
	ends = map[string]time.Time{}
	for settled := false; !now.After(until); {
		if !m.Gone.IsZero() && !now.Before(m.Gone) {
			state.Claim = nil
		}
		if now.Equal(m.FailsUntil) {
			endOutage(&state, now)
		}
		p := op.Plan(now, &state)
		for _, adopted := range p.Adopt {
			i := slices.IndexFunc(state.Snapshots, func(o client.Object) bool { return o.GetName() == adopted.GetName() })
			state.Snapshots[i].SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(op.schedule, snapshots.Ownership.Parent)})
		}
		for _, removal := range p.Delete {
			ends[removal.Object.GetName()] = now
			if m.fails(now) {
				i := slices.IndexFunc(state.Snapshots, func(o client.Object) bool { return o.GetName() == removal.Object.GetName() })
				state.Snapshots[i].SetDeletionTimestamp(&metav1.Time{Time: now})
				continue
			}
			state.Snapshots = slices.DeleteFunc(state.Snapshots, func(o client.Object) bool { return o.GetName() == removal.Object.GetName() })
		}
		for _, desired := range p.Create {
			v := desired.Object.(*snapshotv1.VolumeSnapshot)
			v.CreationTimestamp = metav1.NewTime(now)
			if !m.fails(now) {
				v.Status = &snapshotv1.VolumeSnapshotStatus{ReadyToUse: ptr.To(true), CreationTime: &v.CreationTimestamp}
			}
			taken = append(taken, v.Name)
			state.Snapshots = append(state.Snapshots, v)
		}
		if !settled && len(p.Adopt) == 0 {
			op.settle(&state, now)
			settled = true
			continue
		}
		if len(p.Create)+len(p.Delete)+len(p.Adopt) > 0 {
			continue
		}
		next := m.next(now, p.Next)
		if !next.After(now) {
			break
		}
		now = next
	}
	return ends, taken
}

// endOutage does what the storage was asked for.
func endOutage(state *view.Series, now time.Time) {
	state.Snapshots = slices.DeleteFunc(state.Snapshots, func(o client.Object) bool { return o.GetDeletionTimestamp() != nil })
	for _, o := range state.Snapshots {
		if v := o.(*snapshotv1.VolumeSnapshot); v.Status == nil {
			v.Status = view.ReadyStatus(metav1.NewTime(now))
		}
	}
}

// settle completes what was under way: by definition of the simulation.
func (op *Operator) settle(state *view.Series, now time.Time) {
	state.Restores = nil
	state.Snapshots = slices.DeleteFunc(state.Snapshots, func(o client.Object) bool {
		return o.GetDeletionTimestamp() != nil && metav1.IsControlledBy(o, op.schedule)
	})
	deadline := time.Hour
	if op.schedule.Spec.ReadyDeadline == "1d" {
		deadline = term.Day
	}
	for _, o := range state.Snapshots {
		v := o.(*snapshotv1.VolumeSnapshot)
		cut := v.Status != nil && v.Status.CreationTime != nil
		ready := v.Status != nil && ptr.Deref(v.Status.ReadyToUse, false)
		failed := v.Status != nil && v.Status.Error != nil
		if !ready && (!cut && now.Before(v.CreationTimestamp.Add(deadline)) || cut && !failed) {
			v.Status = view.ReadyStatus(v.CreationTimestamp)
		}
	}
}
