// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ahead lets time pass over snapshots with the decisions of the operator, and compares what becomes of them.
//
//	compare.go   what a change would do
//	stops.go     what would stop
//	steady.go    how many snapshots of a PVC there will be
//	forecast.go     how long the snapshots of a series stay
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

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
	"mapcontroller.dev/snapshotschedule/internal/retention"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// Simulation lets time pass over one series, and does what the operator's plan
// says. It assumes that every snapshot is taken on time and is ready at once, that
// snapshots in progress become ready and restores end, and that nobody else
// changes anything, but for what Happens and Outage say.
type Simulation struct {
	judge *snapshots.Judge
	of    view.Series
	Now   time.Time
	// settled is set once what was under way is complete, Incomplete if the simulation ended because it was exhausted.
	settled, Incomplete bool
	// events are what happens without the operator, the earliest first; outages when the storage does nothing.
	events  []event
	outages []outage
	// steps counts the passes, work the snapshots that they judged, of which there are at most limit.
	steps, work, limit int
}

// MaxWork bounds a simulation, to a few seconds: a schedule of seconds would run
// for hours until a yearly snapshot is deleted.
const MaxWork = 3_000_000

// TenantWork bounds the simulations of all series of a namespace in a report, to half a minute: one tenant must not keep it from
// everybody.
const TenantWork = 10 * MaxWork

// Shares divides an amount of work for each namespace among its series, as far as their number is known before they are read.
func Shares(inv *view.Inventory, schedules []*v1alpha1.SnapshotSchedule, work int) map[string]int {
	shares := map[string]int{}
	for _, s := range schedules {
		shares[s.Namespace] += max(len(inv.Claims[s.Namespace]), len(inv.Snapshots[s.Namespace])/snapshotsOfSeries) + 1
	}
	for namespace, series := range shares {
		shares[namespace] = min(max(work/series, 1), MaxWork)
	}
	return shares
}

// snapshotsOfSeries is how many snapshots a series has, for those whose PVCs are gone.
const snapshotsOfSeries = 10

// Exhausted returns whether the simulation has taken all the steps that it may.
func (sim *Simulation) Exhausted() bool { return sim.work > sim.limit }

// Simulate starts at a time with a copy of the series.
func Simulate(judge *snapshots.Judge, now time.Time, from *view.Series) *Simulation {
	sim := &Simulation{judge: judge, of: *from, Now: now, limit: MaxWork}
	sim.of.Snapshots = slices.Clone(from.Snapshots)
	return sim
}

// event changes a series at a time.
type event struct {
	at     time.Time
	change func(of *view.Series)
}

// Happens has something change the series at a time, before the pass of that time.
func (sim *Simulation) Happens(at time.Time, change func(of *view.Series)) {
	sim.events = append(sim.events, event{at, change})
	slices.SortStableFunc(sim.events, func(a, b event) int { return a.at.Compare(b.at) })
}

type outage struct{ from, until time.Time }

// Outage has the storage neither cut nor delete a snapshot from a time until another one. Then it does what it was asked for.
func (sim *Simulation) Outage(from, until time.Time) {
	sim.outages = append(sim.outages, outage{from, until})
	sim.Happens(until, func(of *view.Series) {
		if sim.failing(until) {
			return // another one goes on
		}
		for _, o := range of.Snapshots {
			if backup.Uncut(o) && !backup.Terminating(o) {
				of.Members = append(slices.Clip(of.Members), cut(o, metav1.NewTime(until))...)
			}
		}
		of.Snapshots = slices.DeleteFunc(slices.Clone(of.Snapshots), backup.Terminating)
	})
}

// failing returns whether the storage does nothing at a time.
func (sim *Simulation) failing(now time.Time) bool {
	return slices.ContainsFunc(sim.outages, func(o outage) bool { return !now.Before(o.from) && now.Before(o.until) })
}

// Limit bounds the work of the simulation.
func (sim *Simulation) Limit(work int) { sim.limit = work }

// Series is the series as it is now.
func (sim *Simulation) Series() *view.Series { return &sim.of }

// Step makes one pass and moves on to the time at which the next one may differ.
// It returns the judgment, the time at which it was made, and false if nothing
// will change any more.
func (sim *Simulation) Step() (at time.Time, d snapshots.Judgment, more bool) {
	at = sim.Now
	for len(sim.events) > 0 && !sim.events[0].at.After(at) {
		change := sim.events[0].change
		sim.events = sim.events[1:]
		change(&sim.of)
	}
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
	next := d.Next
	if len(sim.events) > 0 && (!next.After(at) || sim.events[0].at.Before(next)) {
		next = sim.events[0].at
	}
	switch {
	case again:
		return at, d, true
	case !next.After(at), len(sim.events) == 0 && rests(&d):
		return at, d, false
	}
	sim.Now = next
	return at, d, true
}

// rests returns whether time changes nothing more about a series of which no snapshots are taken, and whose deletes are not delayed.
// The operator still looks every hour for what other groups have of its PVCs.
func rests(d *snapshots.Judgment) bool {
	return d.Series.Claim != retention.Selected && d.Retention.Next.IsZero() &&
		!slices.ContainsFunc(d.Retention.Verdicts, retention.Verdict.Delete)
}

// apply does what a judgment says. It returns whether another pass at the same
// time may do more. A delete leads to more only if it clears the way for a
// snapshot that is due.
func (sim *Simulation) apply(d *snapshots.Judgment) bool {
	if len(d.Delete)+len(d.Create) == 0 {
		return false
	}
	sim.of.Snapshots = slices.Clone(sim.of.Snapshots) // the judgment refers to the others
	now, failing := metav1.NewTime(sim.Now.Truncate(time.Second)), sim.failing(sim.Now)
	if len(d.Delete) > 0 {
		gone := make(map[string]bool, len(d.Delete))
		for _, removal := range d.Delete {
			gone[removal.Object.GetName()] = true
		}
		if failing {
			markDeleted(sim.of.Snapshots, gone, now)
		} else {
			sim.of.Snapshots = slices.DeleteFunc(sim.of.Snapshots, func(o client.Object) bool { return gone[o.GetName()] })
		}
	}
	for _, o := range d.Create {
		if o.SetCreationTimestamp(now); !failing {
			sim.of.Members = append(slices.Clip(sim.of.Members), cut(o, now)...)
		}
		sim.of.Snapshots = append(sim.of.Snapshots, o)
	}
	return len(d.Create) > 0 || d.Retention.Take.Due
}

// markDeleted has the named snapshots wait for the storage.
func markDeleted(all []client.Object, names map[string]bool, now metav1.Time) {
	for i, o := range all {
		if names[o.GetName()] {
			all[i] = o.DeepCopyObject().(client.Object)
			all[i].SetDeletionTimestamp(&now)
		}
	}
}

// cut makes a snapshot one that is ready, and returns its members if it is of a group.
func cut(o client.Object, at metav1.Time) (members []client.Object) {
	created := o.GetCreationTimestamp()
	switch v := o.(type) {
	case *snapshotv1.VolumeSnapshot:
		v.Status = view.ReadyStatus(at)
	case *groupv1.VolumeGroupSnapshot:
		members = snapshots.Complete(v, at)
	}
	o.SetCreationTimestamp(created)
	return members
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
			v := sim.of.Snapshots[at].DeepCopyObject().(client.Object)
			sim.of.Members = append(slices.Clip(sim.of.Members), cut(v, v.GetCreationTimestamp())...)
			sim.of.Snapshots[at] = v
		}
	}
}
