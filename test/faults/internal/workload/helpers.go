// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/environment"
)

const (
	minute = time.Minute
	hour   = time.Hour
	day    = 24 * time.Hour
	// nightly is the schedule of every workload.
	nightly = "nightly"
	// age is that of schedules and PVCs: with an interval of an hour a slot was half
	// an hour ago, and the next is half an hour away.
	age = 240*hour + 30*minute
)

type spec = v1alpha1.SnapshotScheduleSpec

// stage makes a schedule, PVCs and their snapshots; the first error stops it.
type stage struct {
	ctx      context.Context
	run      *environment.Run
	schedule *v1alpha1.SnapshotSchedule
	err      error
}

func on(ctx context.Context, r *environment.Run) *stage { return &stage{ctx: ctx, run: r} }

func (s *stage) nightly(age time.Duration, sp spec) *stage {
	if sp.SnapshotInterval == "" && sp.Schedule == "" {
		sp.SnapshotInterval = "1h"
	}
	if s.err == nil {
		s.schedule, s.err = s.run.Schedule(s.ctx, nightly, age, sp)
	}
	return s
}

func (s *stage) claim(name string, age time.Duration, taken ...environment.Taken) *stage {
	return s.labelled(name, age, nil, taken...)
}

func (s *stage) labelled(name string, age time.Duration, labels map[string]string, taken ...environment.Taken) *stage {
	if s.err != nil {
		return s
	}
	var c *corev1.PersistentVolumeClaim
	if c, s.err = s.run.Claim(s.ctx, name, age, labels); s.err != nil {
		return s
	}
	for i, t := range taken {
		if t.Name == "" {
			t.Name = fmt.Sprintf("%s-old-%d", name, i)
		}
		if s.err = s.run.Snapshot(s.ctx, s.schedule, c, t); s.err != nil {
			return s
		}
	}
	return s
}

// at is a ready snapshot of some age.
func at(age time.Duration) environment.Taken { return environment.Taken{Age: age} }

// current is a ready snapshot for the slot that is half an hour ago.
func current() environment.Taken { return at(30 * minute) }

// settled tells that the status is of the schedule as it is, and says so.
func settled(reason string) func(environment.State) bool {
	return func(s environment.State) bool { return isSettled(s, reason) == nil }
}

func isSettled(s environment.State, reason string) error {
	o := s.Schedule(nightly)
	switch {
	case o == nil:
		return errors.New("the schedule is not there")
	case o.Status.ObservedGeneration != o.Generation:
		return errors.New("the status is of an older generation")
	case environment.Reason(o, v1alpha1.ConditionReady) != reason:
		return fmt.Errorf("condition Ready has the reason %q, not %s", environment.Reason(o, v1alpha1.ConditionReady), reason)
	}
	if paused := environment.Reason(o, v1alpha1.ConditionRetentionPaused); reason != v1alpha1.ReasonInvalidSpec &&
		paused != v1alpha1.ReasonRetentionRunning {
		return fmt.Errorf("RetentionPaused has the reason %q", paused)
	}
	return counts(s, o)
}

// counts compares the status to what it counts.
func counts(s environment.State, o *v1alpha1.SnapshotSchedule) error {
	if environment.Reason(o, v1alpha1.ConditionReady) == v1alpha1.ReasonInvalidSpec {
		return nil
	}
	owned := s.Owned(o)
	ready := 0
	for _, v := range owned {
		if v.Status != nil && v.Status.ReadyToUse != nil && *v.Status.ReadyToUse {
			ready++
		}
	}
	have := o.Status.Outputs.VolumeSnapshots
	if int(have.Total) != len(owned) || int(have.Ready) != ready {
		return fmt.Errorf("status counts %d snapshots, %d ready, and there are %d, %d ready", have.Total, have.Ready, len(owned), ready)
	}
	return nil
}

// has expects a number of ready snapshots of each PVC, and no others, under a
// schedule that has settled.
func has(reason string, of map[string]int) func(environment.State) error {
	return func(s environment.State) error {
		for claim, n := range of {
			if err := ready(s, claim, n); err != nil {
				return err
			}
		}
		return isSettled(s, reason)
	}
}

func ready(s environment.State, claim string, n int) error {
	all := s.Of(claim)
	for _, v := range all {
		if !environment.Ready(v) {
			return fmt.Errorf("snapshot %s is not ready", v.Name)
		}
	}
	if len(all) != n {
		return fmt.Errorf("PVC %s has %d snapshots, not %d", claim, len(all), n)
	}
	return nil
}

// left expects just these snapshots.
func left(s environment.State, claim string, names ...string) error {
	all := s.Of(claim)
	for _, name := range names {
		if s.Snapshot(name) == nil {
			return fmt.Errorf("snapshot %s is gone", name)
		}
	}
	if len(all) != len(names) {
		return fmt.Errorf("PVC %s has %d snapshots, not %d", claim, len(all), len(names))
	}
	return nil
}

func always(environment.State) bool { return true }
