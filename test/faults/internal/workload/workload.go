// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package workload is what the operator is given to do in a run: what there is at
// first, what users do meanwhile, and what must have come of it in the end.
package workload

import (
	"context"
	"fmt"
	"strings"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/environment"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/plan"
)

// Workload is one of them.
type Workload struct {
	Name string
	// What says it to people.
	What string
	// Collects tells that the garbage collector has a part in it.
	Collects bool
	// Deletes tells that retention deletes something.
	Deletes bool
	// Uncut tells that there is a snapshot from the beginning which was never cut:
	// whoever is not shown it takes another one.
	Uncut bool
	// Slow workloads wait for the namespace controller.
	Slow bool
	// Broken is a PVC that can't be snapshotted by anyone.
	Broken string
	// Always is what is done to requests in every run, for good.
	Always func(plan.Point) plan.Deed

	// Prepare makes what there is before the operator starts.
	Prepare func(ctx context.Context, r *environment.Run) error
	// Steps are what happens from outside, each after the one before.
	Steps []Step
	// End says what is missing at the end; nil when all is as it must be.
	End func(s environment.State) error
}

// Step is something that a user does.
type Step struct {
	What string
	// When tells that it is time. It must come true whatever faults there are.
	When func(s environment.State) bool
	Do   func(ctx context.Context, r *environment.Run) error
}

// All are the workloads, the slow ones first: a campaign ends when the last run
// does.
func All() []Workload {
	return []Workload{
		namespaceDeleted(), deletedBackground(), deletedForeground(), deletedOrphan(), policyOrphan(),
		first(), tick(), missed(), restart(), runNow(),
		expiry(), tooMany(), replace(), hold(), edited(), invalid(),
		gone(), recreated(), relabelled(), selectorEdited(),
		adopted(), released(), releasedUnseen(), onePVCFails(),
	}
}

// Find returns the workloads of some names, all of them if there are none.
func Find(names ...string) ([]Workload, error) {
	if len(names) == 0 {
		return All(), nil
	}
	var found []Workload
	for _, name := range names {
		w, ok := find(name)
		if !ok {
			return nil, fmt.Errorf("no workload is called %q: %s are", name, strings.Join(namesOf(All()), ", "))
		}
		found = append(found, w)
	}
	return found, nil
}

func find(name string) (Workload, bool) {
	for _, w := range All() {
		if w.Name == name {
			return w, true
		}
	}
	return Workload{}, false
}

func namesOf(all []Workload) []string {
	names := make([]string, len(all))
	for i, w := range all {
		names[i] = w.Name
	}
	return names
}
