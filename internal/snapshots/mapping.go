// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
)

// Compile compiles a SnapshotSchedule, for everything that decides as the engine
// does. VolumeSnapshotClasses are taken from the related objects. The governors are those of OriginNames, as far as
// they are known.
func Compile(parent client.Object, governors ...client.Object) (mapcontroller.Program, error) {
	s := parent.(*v1alpha1.SnapshotSchedule)
	return compileFor(s, originOf(s, governors), true, DefaultMaxClockSkew)
}

// compileFor compiles a SnapshotSchedule for an operator of all namespaces, or of some,
// where Roles must suffice.
func compileFor(s *v1alpha1.SnapshotSchedule, from origin, clusterWide bool, maxClockSkew time.Duration) (mapcontroller.Program, error) {
	p, err := newProgram(s, from, clusterWide)
	if err != nil {
		return mapcontroller.Program{}, err
	}
	p.spec.retention.MaxClockSkew = maxClockSkew
	return p.functions(), nil
}

func (p *program) functions() mapcontroller.Program {
	f := mapcontroller.Program{Selects: p.selects, Map: p.mapClaim, Tombstone: p.tombstoneOf, Spec: p, Parent: p.schedule}
	if p.schedule.Spec.Group != nil {
		f.Map, f.Key, f.NeedsOptional = p.mapGrouped, p.groupKey, true
	}
	return f
}

// tombstoneOf decides about a key without a selected PVC, under any spec.
func (p *program) tombstoneOf(seen mapcontroller.Observation) mapcontroller.Decision {
	if backup.IsGroupKey(seen.MapKey) {
		return p.groupTombstone(seen)
	}
	return p.tombstone(seen)
}

// mapGrouped decides about a key of a schedule whose PVCs are grouped.
func (p *program) mapGrouped(seen mapcontroller.Observation) mapcontroller.Decision {
	if backup.IsGroupKey(seen.MapKey) {
		return p.mapGroup(seen)
	}
	// A PVC that is selected and belongs to no group. Its own snapshots are of an earlier spec.
	lone := seen
	lone.Selected, lone.Unselected = nil, seen.Selected
	d := p.tombstone(lone)
	status := &keyStatus{}
	if known, ok := d.Status.(*keyStatus); ok {
		status = known
	}
	status.Claim = seen.Selected[0].GetName()
	status.add(Problem{
		Reason:  v1alpha1.ReasonGroupMismatch,
		Message: fmt.Sprintf("the PVC has no label %s, so it belongs to no group, and no snapshot of it is taken", p.schedule.Spec.Group.ByLabel),
	})
	status.protection, status.RecoveryPoint = protectionOld, anchorOf(p.schedule, seen.Selected[0].(*corev1.PersistentVolumeClaim))
	d.Status = status
	return d
}
