// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package mapcontroller

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/plan"
)

// Planner plans for one parent as its Controller does, for whoever wants to know what
// would be done and has no cache.
type Planner struct {
	kinds  *plan.Kinds
	parent plan.Parent
}

// Planner returns the Planner of a parent with its compiled spec. It returns an error for
// a kind that the scheme does not know.
func (c MapController) Planner(scheme *runtime.Scheme, parent client.Object, program Program) (*Planner, error) {
	kinds, err := c.kinds(scheme, parent)
	return &Planner{kinds: kinds, parent: plan.Parent{Object: parent, Program: &program}}, err
}

// kinds returns what plans are made of.
func (c MapController) kinds(scheme *runtime.Scheme, parent client.Object) (*plan.Kinds, error) {
	kinds, err := plan.NewKinds(scheme, parent, c.Ownership, c.Inputs, c.Outputs, c.Related.Kinds...)
	if err == nil {
		kinds.Finalizer = c.Release.Finalizer
		if c.MapKey != nil {
			kinds.MapKey = c.MapKey
		}
	}
	return kinds, err
}

// Key returns the map key of an input.
func (p *Planner) Key(input client.Object) string { return p.kinds.Key(p.parent, input) }

// Partition separates the inputs that the parent selects for a map key from the others.
func (p *Planner) Partition(mapKey string, inputs ...client.Object) (selected, unselected []client.Object) {
	return p.kinds.Partition(p.parent, mapKey, inputs)
}

// Plan returns the plan for a key. The outputs may be in any order.
func (p *Planner) Plan(seen Observation) Plan {
	seen.Outputs = slices.SortedFunc(slices.Values(seen.Outputs), plan.Older)
	return p.kinds.Build(p.parent, Request{Parent: client.ObjectKeyFromObject(p.parent.Object), MapKey: seen.MapKey}, seen)
}
