// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package workload defines the scenarios of the runs: what exists before the operator starts, what users do meanwhile, and the expected
// end state.
//
//   - workload.go: a workload, and all of them
//   - steps.go: what users do, and what exists before the operator starts
//   - checks.go: what is expected
//   - taking.go: snapshots are taken
//   - retiring.go: snapshots are deleted, also of PVCs that are deleted or no longer selected
//   - owning.go: schedules are deleted, and snapshots adopted and released
//   - confirming.go: the cache alone would mislead the operator, or a delay keeps what an edit would delete
//   - sharing.go: what is scarce has to be shared
//   - fleet.go: ClusterSnapshotSchedules, and tenants who work against them
package workload

import (
	"fmt"
	"slices"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/judge"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/plan"
)

// Workload is one scenario.
type Workload struct {
	// Name is part of plan IDs.
	Name string
	// What describes the scenario in the report.
	What string
	// Collects is set if the garbage collector takes part.
	Collects bool
	// Slow is set if the run waits for the namespace controller.
	Slow bool
	// Broken is a PVC of which no snapshot can be created; "*" if something else fails for ever.
	Broken string
	// Neighbor prepares the namespace of another tenant, whom the operator serves as well. Only what becomes of the run's own namespace is
	// judged.
	Neighbor do
	// Fleet is set if a ClusterSnapshotSchedule takes part. Otherwise the operator sees none.
	Fleet bool
	// Limits are what the storage can take. That of snapshots in flight is the operator's; the others are annotations of the class.
	Limits judge.Limits
	// Workers and DeletesPerSecond are those of the operator's settings that differ from the defaults.
	Workers          int
	DeletesPerSecond float64
	// Always returns the action to inject at a point in every run, including the reference run.
	Always func(plan.Point) plan.Action

	// Prepare creates what exists before the operator starts.
	Prepare do
	// Steps are what users do, in order.
	Steps []Step
	// End holds in the expected end state.
	End check
}

// Step is one action of a user.
type Step struct {
	What string
	// When holds if the step is due. It must come to hold under any fault.
	When check
	// Calm says that the step waits until the operator has done what it can.
	Calm bool
	// Operators says that the step stops or starts operators.
	Operators bool
	Do        do
}

// All returns every workload. That of a deleted namespace is first, because all of them last as long as its last run.
func All() []Workload {
	return slices.Concat(owning, releasing, taking, retiring, detaching, confirming, delaying, fleets, tenants, sharing)
}

// Find returns the workloads with the given names.
func Find(names ...string) (found []Workload, err error) {
	all := All()
	for _, name := range names {
		i := slices.IndexFunc(all, func(w Workload) bool { return w.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("no workload is named %q", name)
		}
		found = append(found, all[i])
	}
	return found, nil
}
