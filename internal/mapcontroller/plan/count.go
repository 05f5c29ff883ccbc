// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"
	"strings"
	"unique"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Total is the name of the count of all objects of a kind.
const Total = "total"

// Section is a part of the aggregated status.
type Section uint8

// The sections of the aggregated status.
const (
	Inputs Section = iota
	Outputs
	DetachedKeys
	DetachedOutputs
)

// Counter is one number of the aggregated status.
type Counter struct {
	Section Section
	// Resource is a plural; empty for DetachedKeys.
	Resource string
	// Name is Total or the name of a condition.
	Name string
}

// Count is what a key adds to a Counter. There are many keys and few counters,
// so that a key holds handles.
type Count struct {
	Counter unique.Handle[Counter]
	N       int
}

// counts returns what a key adds to its parent's counts. A condition that is
// not true of any output adds zero, so that the count appears.
func (r *Rules) counts(selected, owned []client.Object) []Count {
	var counters []Counter
	var numbers []int
	add := func(n int, section Section, resource, name string) {
		counter := Counter{Section: section, Resource: resource, Name: name}
		i := slices.Index(counters, counter)
		if i < 0 {
			i = len(counters)
			counters, numbers = append(counters, counter), append(numbers, 0)
		}
		numbers[i] += n
	}
	for _, o := range selected {
		if kind, err := r.InputKind(o); err == nil {
			add(1, Inputs, kind.Resource, Total)
		}
	}
	detached := len(selected) == 0
	if detached && len(owned) > 0 {
		add(1, DetachedKeys, "", Total)
	}
	for _, o := range owned {
		kind, err := r.OutputKind(o)
		if err != nil {
			continue
		}
		add(1, Outputs, kind.Resource, Total)
		if detached {
			add(1, DetachedOutputs, kind.Resource, Total)
		}
		conditions := kind.Conditions
		if conditions == nil {
			conditions = StatusConditions
		}
		for _, c := range conditions(o) {
			n := 0
			if c.True {
				n = 1
			}
			add(n, Outputs, kind.Resource, c.Name)
		}
	}
	counts := make([]Count, len(counters))
	for i, counter := range counters {
		counts[i] = Count{Counter: unique.Make(counter), N: numbers[i]}
	}
	return counts
}

// StatusConditions returns the entries of an object's status.conditions, named
// as status fields are: Ready as ready.
func StatusConditions(o client.Object) []Condition {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return nil
	}
	status, _ := content["status"].(map[string]any)
	entries, _ := status["conditions"].([]any)
	var conditions []Condition
	for _, entry := range entries {
		condition, _ := entry.(map[string]any)
		name, _ := condition["type"].(string)
		if name != "" {
			conditions = append(conditions, Condition{
				Name: strings.ToLower(name[:1]) + name[1:], True: condition["status"] == "True",
			})
		}
	}
	return conditions
}
