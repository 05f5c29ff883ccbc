// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ahead lets time pass over snapshots with the decisions of the operator, and compares what becomes of them.
//
//	compare.go   what a change would do
//	stops.go     what would stop
//	steady.go    how many snapshots of a PVC there will be
//	fates.go     how long the snapshots of a series stay
//	simulate.go  the simulation, which all of them step
//	regular.go   the same for a series about which retention alone decides
package ahead

import (
	"slices"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/cli/view"
	"mapcontroller.dev/snapshotschedule/internal/retention"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// Simulation lets time pass over one series, and does what the operator's plan
// says. It assumes that every snapshot is taken on time and is ready at once, that
// snapshots in progress become ready and restores end, and that nobody else
// changes anything.
type Simulation struct {
	judge *snapshots.Judge
	of    view.Series
	Now   time.Time
	// settled is set once what was under way is complete, Incomplete if the simulation ended because it was exhausted.
	settled, Incomplete bool
	// steps counts the passes, work the snapshots that they judged, of which there are at most limit.
	steps, work, limit int
}

// MaxWork bounds a simulation, to a few seconds: a schedule of seconds would run
// for hours until a yearly snapshot is deleted.
const MaxWork = 3_000_000

// TenantWork bounds the simulations of all series of a namespace in a report, to half a minute: one tenant must not keep it from
// everybody.
const TenantWork = 10 * MaxWork

// Exhausted returns whether the simulation has taken all the steps that it may.
func (sim *Simulation) Exhausted() bool { return sim.work > sim.limit }

// Simulate starts at a time with a copy of the series.
func Simulate(judge *snapshots.Judge, now time.Time, from *view.Series) *Simulation {
	sim := &Simulation{judge: judge, of: *from, Now: now, limit: MaxWork}
	sim.of.Snapshots = slices.Clone(from.Snapshots)
	return sim
}

// Step makes one pass and moves on to the time at which the next one may differ.
// It returns the judgment, the time at which it was made, and false if nothing
// will change any more.
func (sim *Simulation) Step() (at time.Time, d snapshots.Judgment, more bool) {
	at = sim.Now
	if sim.steps == 0 {
		d = sim.judge.Judge(at, sim.of.Judged())
		sim.of.Snapshots = d.Outputs
	} else {
		d = sim.judge.Again(at, sim.of.Judged())
	}
	changes := len(d.Adopt)+len(d.Release) > 0 // deletes wait for them
	again := sim.apply(&d) || changes
	if !sim.settled && !changes {
		sim.settle(&d)
		sim.settled, again = true, true
	}
	sim.steps++
	sim.work += len(sim.of.Snapshots) + 1
	switch {
	case again:
		return at, d, true
	case !d.Next.After(at):
		return at, d, false
	}
	sim.Now = d.Next
	return at, d, true
}

// apply does what a judgment says. It returns whether another pass at the same
// time may do more. A delete leads to more only if it clears the way for a
// snapshot that is due.
func (sim *Simulation) apply(d *snapshots.Judgment) bool {
	if len(d.Delete)+len(d.Create) == 0 {
		return false
	}
	sim.of.Snapshots = slices.Clone(sim.of.Snapshots) // the judgment refers to the others
	if len(d.Delete) > 0 {
		gone := make(map[string]bool, len(d.Delete))
		for _, removal := range d.Delete {
			gone[removal.Object.GetName()] = true
		}
		sim.of.Snapshots = slices.DeleteFunc(sim.of.Snapshots, func(o client.Object) bool { return gone[o.GetName()] })
	}
	created := metav1.NewTime(sim.Now.Truncate(time.Second))
	for _, o := range d.Create {
		switch v := o.(type) {
		case *snapshotv1.VolumeSnapshot:
			v.CreationTimestamp, v.Status = created, view.ReadyStatus(created)
		case *groupv1.VolumeGroupSnapshot:
			sim.of.Members = append(slices.Clip(sim.of.Members), snapshots.Complete(v, created)...)
		}
		sim.of.Snapshots = append(sim.of.Snapshots, o)
	}
	return len(d.Create) > 0 || d.Retention.Take.Due
}

// settle completes what was under way when the simulation began: snapshots that
// are being taken or deleted, and restores.
func (sim *Simulation) settle(d *snapshots.Judgment) {
	sim.of.Restores = nil
	sim.of.Snapshots = slices.Clone(sim.of.Snapshots)
	for i := range d.Series.Snapshots {
		s, o := &d.Series.Snapshots[i], d.Outputs[i]
		at := slices.IndexFunc(sim.of.Snapshots, func(v client.Object) bool { return v.GetName() == o.GetName() })
		if at < 0 {
			continue
		}
		switch s.State(sim.Now, sim.judge.ReadyDeadline()) {
		case retention.Terminating:
			sim.of.Snapshots = slices.Delete(sim.of.Snapshots, at, at+1)
		case retention.InProgress:
			switch v := sim.of.Snapshots[at].DeepCopyObject().(type) {
			case *snapshotv1.VolumeSnapshot:
				v.Status = view.ReadyStatus(v.CreationTimestamp)
				sim.of.Snapshots[at] = v
			case *groupv1.VolumeGroupSnapshot:
				sim.of.Members = append(slices.Clip(sim.of.Members), snapshots.Complete(v, v.CreationTimestamp)...)
				sim.of.Snapshots[at] = v
			}
		}
	}
}
