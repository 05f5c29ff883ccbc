/*
Copyright 2026 The SnapshotSchedule Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

// Package workload is what the operator is given to do in a run: what there is at
// first, what users do meanwhile, and what must have come of it in the end.
package workload

import (
	"context"
	"fmt"
	"strings"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/plan"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/world"
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
	Prepare func(ctx context.Context, r *world.Run) error
	// Steps are what happens from outside, each after the one before.
	Steps []Step
	// End says what is missing at the end; nil when all is as it must be.
	End func(s world.State) error
}

// Step is something that a user does.
type Step struct {
	What string
	// When tells that it is time. It must come true whatever faults there are.
	When func(s world.State) bool
	Do   func(ctx context.Context, r *world.Run) error
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
