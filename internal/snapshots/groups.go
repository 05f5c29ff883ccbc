// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"maps"
	"slices"
	"time"

	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"

	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
	"mapcontroller.dev/snapshotschedule/internal/retention"
)

// elsewhereCheck is how often a group snapshot is checked that the floor keeps for a PVC which has left its group: no event
// shows that another group of the PVC has a newer one.
const elsewhereCheck = time.Hour

// A group whose PVCs are others than those of its newest group snapshot is not taken before they have been the same for
// settleFor, or for settleWithin since the slot was due and they began to change: PVCs come one after the other, and the
// first alone is no group.
const (
	settleFor    = 10 * time.Second
	settleWithin = 2 * time.Minute
)

// unsettled returns when a group whose PVCs have changed may be taken for its slot; zero: now, as of a PVC.
func (p *program) unsettled(of *subject, seen mapcontroller.Observation) time.Time {
	if of.group == "" {
		return time.Time{}
	}
	g, slots := &of.backups, of.slots
	newest := retention.Newest(g.Whole.Snapshots, seen.Now)
	if seen.SameSince.IsZero() || slots.Current.IsZero() || newest >= 0 && maps.Equal(backup.ClaimsOf(g.outputs[newest]), of.record()) {
		return time.Time{}
	}
	// The first slot that it lacks, not the newest: a short interval would otherwise end the wait of no group that keeps changing.
	first, _ := p.spec.timeline(of).Next(retention.LastSlot(g.Whole.Snapshots, seen.Now))
	began := earliest(first, slots.Current)
	if seen.ChangingSince.After(began) {
		began = seen.ChangingSince
	}
	at := earliest(seen.SameSince.Add(settleFor), began.Add(settleWithin))
	if last := slots.Until.Add(-time.Second); !slots.Until.IsZero() && last.Before(at) { // late rather than never
		at = last
	}
	if !seen.Now.Before(at) {
		return time.Time{}
	}
	return at
}

// retireGroups adds what concerns group snapshots alone: which of them cannot be deleted yet, and those of other keys on which
// deletes depend.
func (p *program) retireGroups(d *mapcontroller.Decision, of *subject, seen mapcontroller.Observation) {
	b := &of.backups
	if !b.ofGroup {
		return
	}
	d.Delete = slices.DeleteFunc(d.Delete, func(r mapcontroller.Removal) bool {
		may, at := mayGo(r.Object.(*groupv1.VolumeGroupSnapshot), p.spec.retention.ReadyDeadline, seen.Now.Add(-seen.Ahead))
		if !may {
			d.Next = earliest(d.Next, at)
		}
		return !may
	})
	for _, i := range of.decided.Elsewhere {
		d.Evidence = append(d.Evidence, b.elsewhere.outputs[i])
	}
	if len(seen.Unselected) > 0 && slices.Contains(of.decided.Verdicts, retention.Floor) {
		d.Next = earliest(d.Next, seen.Now.Add(elsewhereCheck))
	}
}
