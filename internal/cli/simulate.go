// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"slices"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
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
	d = sim.judge.Judge(sim.now, sim.mapKey, sim.claim, sim.snapshots, sim.restores)
	again := sim.apply(&d)
	if sim.steps == 0 {
		again = sim.settle(&d) || again
	}
	sim.steps++
	sim.work += len(sim.snapshots) + 1
	if again {
		return at, d, true
	}
	if !d.Plan.Next.After(sim.now) {
		return at, d, false
	}
	sim.now = d.Plan.Next
	return at, d, true
}

// apply does what a plan says. It returns whether another pass at the same time
// may do more. A delete leads to more only if it clears the way for a snapshot
// that is due.
func (sim *simulation) apply(d *snapshots.Judgment) bool {
	p := &d.Plan
	for _, o := range p.Adopt {
		adopted := o.DeepCopyObject().(client.Object)
		adopted.SetOwnerReferences(append(adopted.GetOwnerReferences(), sim.judge.OwnerReference()))
		sim.snapshots[slices.Index(sim.snapshots, o)] = adopted
	}
	if len(p.Delete) > 0 {
		gone := make(map[string]bool, len(p.Delete))
		for _, removal := range p.Delete {
			gone[removal.Object.GetName()] = true
		}
		sim.snapshots = slices.DeleteFunc(sim.snapshots, func(o client.Object) bool { return gone[o.GetName()] })
	}
	for _, o := range p.Create {
		v := o.(*snapshotv1.VolumeSnapshot)
		v.CreationTimestamp = metav1.NewTime(sim.now.Truncate(time.Second))
		v.UID = types.UID(v.Name)
		v.Status = readyStatus(v.CreationTimestamp)
		sim.snapshots = append(sim.snapshots, v)
	}
	return len(p.Adopt)+len(p.Create) > 0 || len(p.Delete) > 0 && d.Retention.Take.Due
}

// settle completes what was under way when the simulation began: snapshots that
// are being taken or deleted, and restores.
func (sim *simulation) settle(d *snapshots.Judgment) bool {
	changed := len(sim.restores) > 0
	sim.restores = nil
	for i := range d.Series.Snapshots {
		s, o := &d.Series.Snapshots[i], d.Outputs[i]
		at := slices.IndexFunc(sim.snapshots, func(v client.Object) bool { return v.GetName() == o.GetName() })
		if at < 0 {
			continue
		}
		switch s.State(sim.now, sim.judge.ReadyDeadline()) {
		case retention.Terminating:
			sim.snapshots = slices.Delete(sim.snapshots, at, at+1)
			changed = true
		case retention.InProgress:
			v := sim.snapshots[at].DeepCopyObject().(*snapshotv1.VolumeSnapshot)
			v.Status = readyStatus(v.CreationTimestamp)
			sim.snapshots[at] = v
			changed = true
		}
	}
	return changed
}

func readyStatus(cut metav1.Time) *snapshotv1.VolumeSnapshotStatus {
	return &snapshotv1.VolumeSnapshotStatus{ReadyToUse: ptr.To(true), CreationTime: &cut}
}
