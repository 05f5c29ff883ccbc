// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"slices"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/retention"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// simulation lets time pass over one series, and does what the operator's plan
// says. It assumes that every snapshot is taken on time and is ready at once, that
// snapshots in progress become ready and restores end, and that nobody else
// changes anything.
type simulation struct {
	judge *snapshots.Judge
	series
	now time.Time
	// settled is set once what was under way is complete.
	settled bool
	// steps counts the passes, work the snapshots that they judged.
	steps, work int
}

// maxWork bounds a simulation, to a few seconds: a schedule of seconds would run
// for hours until a yearly snapshot is deleted.
const maxWork = 3_000_000

func (sim *simulation) exhausted() bool { return sim.work > maxWork }

// simulate starts at a time with a copy of the series.
func simulate(judge *snapshots.Judge, now time.Time, from *series) *simulation {
	sim := &simulation{judge: judge, series: *from, now: now}
	sim.snapshots = slices.Clone(from.snapshots)
	return sim
}

// step makes one pass and moves on to the time at which the next one may differ.
// It returns the judgment, the time at which it was made, and false if nothing
// will change any more.
func (sim *simulation) step() (at time.Time, d snapshots.Judgment, more bool) {
	at = sim.now
	if sim.steps == 0 {
		d = sim.judge.Judge(at, sim.mapKey, sim.claim, sim.snapshots, sim.restores)
		sim.snapshots = d.Outputs
	} else {
		d = sim.judge.Again(at, sim.mapKey, sim.claim, sim.snapshots, sim.restores)
	}
	changes := len(d.Adopt)+len(d.Release) > 0 // deletes wait for them
	again := sim.apply(&d) || changes
	if !sim.settled && !changes {
		sim.settle(&d)
		sim.settled, again = true, true
	}
	sim.steps++
	sim.work += len(sim.snapshots) + 1
	switch {
	case again:
		return at, d, true
	case !d.Next.After(at):
		return at, d, false
	}
	sim.now = d.Next
	return at, d, true
}

// apply does what a judgment says. It returns whether another pass at the same
// time may do more. A delete leads to more only if it clears the way for a
// snapshot that is due.
func (sim *simulation) apply(d *snapshots.Judgment) bool {
	if len(d.Delete)+len(d.Create) == 0 {
		return false
	}
	sim.snapshots = slices.Clone(sim.snapshots) // the judgment refers to the others
	if len(d.Delete) > 0 {
		gone := make(map[string]bool, len(d.Delete))
		for _, removal := range d.Delete {
			gone[removal.Object.GetName()] = true
		}
		sim.snapshots = slices.DeleteFunc(sim.snapshots, func(o client.Object) bool { return gone[o.GetName()] })
	}
	for _, o := range d.Create {
		v := o.(*snapshotv1.VolumeSnapshot)
		v.CreationTimestamp = metav1.NewTime(sim.now.Truncate(time.Second))
		v.Status = readyStatus(v.CreationTimestamp)
		sim.snapshots = append(sim.snapshots, v)
	}
	return len(d.Create) > 0 || d.Retention.Take.Due
}

// settle completes what was under way when the simulation began: snapshots that
// are being taken or deleted, and restores.
func (sim *simulation) settle(d *snapshots.Judgment) {
	sim.restores = nil
	sim.snapshots = slices.Clone(sim.snapshots)
	for i := range d.Series.Snapshots {
		s, o := &d.Series.Snapshots[i], d.Outputs[i]
		at := slices.IndexFunc(sim.snapshots, func(v client.Object) bool { return v.GetName() == o.GetName() })
		if at < 0 {
			continue
		}
		switch s.State(sim.now, sim.judge.ReadyDeadline()) {
		case retention.Terminating:
			sim.snapshots = slices.Delete(sim.snapshots, at, at+1)
		case retention.InProgress:
			v := sim.snapshots[at].DeepCopyObject().(*snapshotv1.VolumeSnapshot)
			v.Status = readyStatus(v.CreationTimestamp)
			sim.snapshots[at] = v
		}
	}
}

func readyStatus(cut metav1.Time) *snapshotv1.VolumeSnapshotStatus {
	return &snapshotv1.VolumeSnapshotStatus{ReadyToUse: ptr.To(true), CreationTime: &cut}
}
