// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package workload defines the scenarios of the runs: what exists before the
// operator starts, what users do meanwhile, and the expected end state.
package workload

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/environment"
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
	// Deletes is set if retention deletes something.
	Deletes bool
	// Uncut is set if an uncut snapshot exists at the start, and Imports if an imported
	// one covers a slot, one that was made by hand, or a ClusterSnapshotSchedule keeps it from
	// being taken: an operator that does not see that takes another one. No name keeps it from that.
	Uncut, Imports bool
	// Slow is set if the run waits for the namespace controller.
	Slow bool
	// Broken is a PVC of which no snapshot can be created; "*" if something else fails for ever.
	Broken string
	// Neighbor prepares the namespace of another tenant, whom the operator serves as
	// well. Only what becomes of the run's own namespace is judged.
	Neighbor func(ctx context.Context, r *environment.Run) error
	// Fleet is set if a ClusterSnapshotSchedule takes part. Otherwise the operator sees none.
	Fleet bool
	// MaxInFlight is the limit of snapshots in flight, if there is one.
	MaxInFlight int
	// Workers and DeletesPerSecond are those of the operator's settings that differ from the defaults.
	Workers          int
	DeletesPerSecond float64
	// Always returns the action to inject at a point in every run, including the
	// reference run.
	Always func(plan.Point) plan.Action

	// Prepare creates what exists before the operator starts.
	Prepare func(ctx context.Context, r *environment.Run) error
	// Steps are what users do, in order.
	Steps []Step
	// End returns what differs from the expected end state; nil if nothing does.
	End func(s environment.State) error
}

// Step is one action of a user.
type Step struct {
	What string
	// When reports whether the step is due. It must become true under any fault.
	When func(s environment.State) bool
	// Calm says that the step waits until the operator has done what it can.
	Calm bool
	// Operators says that the step stops or starts operators.
	Operators bool
	Do        func(ctx context.Context, r *environment.Run) error
}

func calm(s Step) Step {
	s.Calm = true
	return s
}

// All returns every workload. The slow one is first, because all of them last as
// long as its last run.
func All() []Workload {
	return []Workload{
		namespaceDeleted(), deletedBackground(), deletedForeground(), deletedOrphan(), policyOrphan(),
		toOrphan(), toOrphanUnseen(), toOrphanLate(), deletedToOrphan(), fromOrphan(),
		first(), tick(), missed(), restart(), slowStart(), kindsMissing(), runNow(),
		expiry(), tooMany(), replace(), legalHold(), hold(), edited(), invalid(),
		gone(), recreated(), relabeled(), selectorEdited(),
		adopted(), groupMember(), slotEdited(), released(), releasedUnseen(), onePVCFails(),
		imports(), restored(), midnights(), overdue(), lost(), lostTier(),
		adoptedExpired(), releasedInvalid(), releasedAndEdited(), otherSource(), etcdRestored(),
		editedAndUnheld(), deleting(), movedAndEdited(),
		editDelayed(), editTakenBack(), editConfirmed(), recordWiped(), nameReused(),
		fleetSelects(), fleetTombstone(), fleetForeign(), fleetDeleted(),
		fleetTakenOver(), fleetCreatesAgain(), fleetTakenBack(), fleetChildHangs(),
		hungNamespace(), hostileTenant(), massExpiry(), largeFloor(), inFlight(), inFlightBrief(), inFlightShared(), lostClass(),
	}
}

// Find returns the workloads with the given names, or all without names.
func Find(names ...string) ([]Workload, error) {
	all := All()
	if len(names) == 0 {
		return all, nil
	}
	var found []Workload
	for _, name := range names {
		i := slices.IndexFunc(all, func(w Workload) bool { return w.Name == name })
		if i < 0 {
			var known []string
			for _, w := range all {
				known = append(known, w.Name)
			}
			return nil, fmt.Errorf("no workload %q, only %s", name, strings.Join(known, ", "))
		}
		found = append(found, all[i])
	}
	return found, nil
}
