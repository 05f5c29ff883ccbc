// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
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
	f := mapcontroller.Program{
		Selects: p.selects, Map: decider(p.mapKey).decision, Tombstone: decider(p.tombstone).decision, Spec: p, Parent: p.schedule,
	}
	if p.schedule.Spec.Group != nil {
		f.Key, f.KeyIndex, f.NeedsOptional = p.groupKey, p.groupIndex(), true
	}
	return f
}
