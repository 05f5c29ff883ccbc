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

package campaign

import (
	"time"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/plan"
)

// shortLimits are how many plans of each class the short form runs: enough that
// every class and every oracle has something to judge, in a minute or two.
var shortLimits = map[plan.Class]int{
	plan.Crash: 12, plan.APIErrors: 18, plan.Reads: 16, plan.Watches: 12, plan.TimeTravel: 10,
	plan.Managers: 6, plan.Clock: 6, plan.Pairs: 4, plan.Idle: 12, SpecStates: 30,
}

// shortIdle is how long the short form watches ends.
const shortIdle = 3 * time.Second

// shortWorkloads are those that take no longer than others and together do all
// that the operator does.
var shortWorkloads = []string{
	"first", "tick", "expiry", "replace", "edit", "gone", "relabel", "policy-orphan", "deleted-orphan", "adopt", "release", "one-fails",
}

// Short is the fixed selection that tests run each time. What chooses in some
// options is overridden.
func Short(o Options) Options {
	o.Workloads, o.Idle = shortWorkloads, shortIdle
	o.Classes, o.Plans, o.Limit = nil, nil, 0
	o.limits = shortLimits
	return o
}
