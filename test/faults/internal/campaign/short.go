// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

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

// leastLimits are a little more than how many plans of each class are promised,
// where there are more; some miss their points. A class that is left out is run
// whole.
var leastLimits = map[plan.Class]int{plan.APIErrors: 420, plan.Reads: 170, plan.Watches: 220, plan.TimeTravel: 120, plan.Pairs: 60}

// Least is a campaign of as many plans as are promised at least, spread evenly.
func Least(o Options) Options {
	o.Limit, o.limits = 0, leastLimits
	return o
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
