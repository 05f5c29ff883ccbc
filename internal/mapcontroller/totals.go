// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package mapcontroller

import (
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// total is the name of the count of all objects of a kind.
const total = "total"

// Totals are the proposal's aggregated status: for each input kind how many are
// selected, for each output kind how many are owned and of how many a condition
// is true. Kinds are named by their plural.
type Totals struct {
	Inputs  map[string]int
	Outputs map[string]map[string]int
	// Detached counts the map keys with outputs but without a selected input,
	// and those outputs.
	DetachedKeys    int
	DetachedOutputs map[string]int
}

// A counter is one number of Totals.
type counter struct {
	of       section
	resource string
	name     string
}

type section int

const (
	ofInputs section = iota
	ofOutputs
	ofDetachedKeys
	ofDetachedOutputs
)

type count struct {
	counter
	n int
}

// count says what a key adds to its parent's totals.
func (c *MapController[P, S]) count(input client.Object, selected bool, owned []client.Object) []count {
	var counts []count
	add := func(of section, resource, name string) {
		k := counter{of: of, resource: resource, name: name}
		for i := range counts {
			if counts[i].counter == k {
				counts[i].n++
				return
			}
		}
		counts = append(counts, count{counter: k, n: 1})
	}
	if selected {
		add(ofInputs, c.inputKind(input).Resource, total)
	} else if len(owned) > 0 {
		add(ofDetachedKeys, "", total)
	}
	for _, o := range owned {
		kind := c.outputKind(o)
		add(ofOutputs, kind.Resource, total)
		for _, name := range kind.Conditions(o) {
			add(ofOutputs, kind.Resource, name)
		}
		if !selected {
			add(ofDetachedOutputs, kind.Resource, total)
		}
	}
	return counts
}

func newTotals(counts map[counter]int) *Totals {
	t := &Totals{Inputs: map[string]int{}, Outputs: map[string]map[string]int{}, DetachedOutputs: map[string]int{}}
	for k, n := range counts {
		switch k.of {
		case ofInputs:
			t.Inputs[k.resource] = n
		case ofOutputs:
			if t.Outputs[k.resource] == nil {
				t.Outputs[k.resource] = map[string]int{}
			}
			t.Outputs[k.resource][k.name] = n
		case ofDetachedKeys:
			t.DetachedKeys = n
		case ofDetachedOutputs:
			t.DetachedOutputs[k.resource] = n
		}
	}
	return t
}

// TrueConditions returns the types of an object's conditions that are "True",
// spelled as a status field would be: Ready as ready.
func TrueConditions(o client.Object) []string {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return nil
	}
	status, _ := content["status"].(map[string]any)
	conditions, _ := status["conditions"].([]any)
	var names []string
	for _, entry := range conditions {
		condition, _ := entry.(map[string]any)
		name, _ := condition["type"].(string)
		if name != "" && condition["status"] == "True" {
			names = append(names, strings.ToLower(name[:1])+name[1:])
		}
	}
	return names
}

// inputKind returns the kind of an input; an object of no input kind is a
// defect of this package.
func (c *MapController[P, S]) inputKind(o client.Object) Input {
	for _, in := range c.Inputs {
		if reflect.TypeOf(in.Object) == reflect.TypeOf(o) {
			return in
		}
	}
	panic("not an input: " + reflect.TypeOf(o).String())
}

// outputKind returns the kind of an output; Map may return no other.
func (c *MapController[P, S]) outputKind(o client.Object) Output {
	for _, out := range c.Outputs {
		if reflect.TypeOf(out.Object) == reflect.TypeOf(o) {
			return out
		}
	}
	panic("not an output: " + reflect.TypeOf(o).String())
}

func emptyLike(o client.Object) client.Object {
	return reflect.New(reflect.TypeOf(o).Elem()).Interface().(client.Object)
}
