// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package campaign

import (
	"slices"
	"strings"
	"time"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/plan"
)

// The classes that do not depend on traces.
const (
	// SpecStates runs specs with boundary values of every field.
	SpecStates plan.Class = "specs"
	// Clocks changes the injected clock, in process.
	Clocks plan.Class = "clocks"
	// Simulation simulates ninety days from a seed, in process.
	Simulation plan.Class = "simulation"

	referenceClass plan.Class = "reference"
)

var staticClasses = []plan.Class{SpecStates, Clocks, Simulation}

// renamed maps former names of classes, which older reports use in plan IDs.
var renamed = map[plan.Class]plan.Class{"lives": Simulation}

func (o *Options) renameClasses() {
	o.Classes, o.Plans = slices.Clone(o.Classes), slices.Clone(o.Plans)
	for i, class := range o.Classes {
		if name, ok := renamed[class]; ok {
			o.Classes[i] = name
		}
	}
	for i, id := range o.Plans {
		class, rest, _ := strings.Cut(id, ":")
		if name, ok := renamed[plan.Class(class)]; ok {
			o.Plans[i] = string(name) + ":" + rest
		}
	}
}

func classOf(id string) plan.Class {
	class, _, _ := strings.Cut(id, ":")
	return plan.Class(strings.TrimSuffix(class, "*"))
}

// selectsTraces reports whether a plan of a class that depends on traces is selected.
func (o *Options) selectsTraces() bool {
	if len(o.Classes)+len(o.Plans) == 0 {
		return true
	}
	traced := func(class plan.Class) bool { return !slices.Contains(staticClasses, class) }
	return slices.ContainsFunc(o.Classes, traced) ||
		slices.ContainsFunc(o.Plans, func(id string) bool { return traced(classOf(id)) })
}

// selectedOf returns the selected IDs of a static class, where none means all, and
// whether the class is selected.
func (o *Options) selectedOf(class plan.Class) (ids []string, ok bool) {
	for _, id := range o.Plans {
		if classOf(id) == class {
			ids = append(ids, id)
		}
	}
	return ids, len(ids) > 0 || slices.Contains(o.Classes, class) || len(o.Classes)+len(o.Plans) == 0
}

// selectedWorkloads returns the workloads that the selected plans need.
func (o *Options) selectedWorkloads() []string {
	if len(o.Plans) == 0 {
		return o.Workloads
	}
	names := slices.Clone(o.Workloads)
	for _, id := range o.Plans {
		if slices.Contains(staticClasses, classOf(id)) {
			continue
		}
		parts := strings.SplitN(id, ":", 3)
		if len(parts) < 2 || strings.Contains(parts[1], "*") {
			return o.Workloads // the plan may be of any workload
		}
		if !slices.Contains(names, parts[1]) {
			names = append(names, parts[1])
		}
	}
	return names
}

// shortLimits are the numbers of plans in the short form: enough that every class
// and every oracle has something to judge, in a minute or two.
var shortLimits = map[plan.Class]int{
	plan.Crash: 12, plan.APIErrors: 18, plan.Reads: 16, plan.Watches: 12, plan.TimeTravel: 10,
	plan.TwoManagers: 6, plan.Clock: 6, plan.TwoFaults: 4, plan.Idle: 12, SpecStates: 30,
}

// shortWorkloads are fast, and together make the operator do everything it does.
var shortWorkloads = []string{
	"first", "tick", "expiry", "replace", "edit", "gone", "relabel", "policy-orphan", "deleted-orphan", "adopt", "release", "one-fails",
}

// Short returns the options of the fixed selection that CI runs.
func Short(o Options) Options {
	o.Workloads, o.Idle = shortWorkloads, 3*time.Second
	o.Classes, o.Plans, o.Limit = nil, nil, 0
	o.limits = shortLimits
	return o
}
