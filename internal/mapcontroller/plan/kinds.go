// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"mapcontroller.dev/snapshotschedule/internal/informer"
)

// Tags are the labels that identify outputs.
type Tags struct {
	// MapKey is the label that holds the key of the input an output came from.
	MapKey string
	// Parent is the label that holds the parent's name. An orphan that carries it
	// may be adopted; an owned output that carries another name is released.
	Parent string
}

// Input is a kind whose objects are mapped.
type Input struct {
	// Object is an empty object of the kind; an Unstructured must have its
	// GroupVersionKind set.
	Object client.Object
	// Resource is the plural under which status counts the kind.
	Resource string
	// Changed returns whether an update may change a decision. Changes of labels,
	// controller, UID and deletionTimestamp always count. Nil: every update counts.
	Changed func(before, after client.Object) bool
}

// Output is a kind whose objects are kept for inputs.
type Output struct {
	// Object is an empty object of the kind; an Unstructured must have its
	// GroupVersionKind set.
	Object client.Object
	// Resource is the plural of the kind, used in requests and in status.
	Resource string
	// Update changes a copy of an observed output so that it is as the desired one
	// asks; what it changes is written. Nil: an output is never changed after its
	// creation.
	Update func(observed, desired client.Object)
	// Conditions returns the conditions of an output that status counts, and
	// whether each is true. Nil: StatusConditions.
	Conditions func(client.Object) []Condition
	// InputName returns the name of the input that an output came from, to look
	// for it live. Nil or an empty name: all inputs of the namespace are read.
	InputName func(client.Object) string
	// Covers returns whether an existing object of a desired output's name makes
	// it unnecessary. It is asked about the parent's own outputs and about objects
	// that nothing controls. Nil: the parent's own do if they do not differ.
	Covers func(desired, existing client.Object) bool
	// Updated is called for every observed change of an owned output, for metrics.
	Updated func(parent types.NamespacedName, before, after client.Object)
}

// Condition is a condition that status counts, under its name.
type Condition struct {
	Name string
	True bool
}

// Rules are the fixed part of every plan of one controller.
type Rules struct {
	Tags    Tags
	Inputs  []Input
	Outputs []Output
	// ParentKind is the kind of the parents, for controllerRefs.
	ParentKind schema.GroupVersionKind

	byType map[reflect.Type]schema.GroupVersionKind
}

// NewRules resolves the kinds. It returns an error for a kind that the scheme
// does not know.
func NewRules(scheme *runtime.Scheme, parent client.Object, tags Tags, inputs []Input, outputs []Output) (*Rules, error) {
	r := &Rules{Tags: tags, Inputs: inputs, Outputs: outputs, byType: map[reflect.Type]schema.GroupVersionKind{}}
	all := []client.Object{parent}
	for _, in := range inputs {
		all = append(all, in.Object)
	}
	for _, out := range outputs {
		all = append(all, out.Object)
	}
	for _, o := range all {
		gvk, err := apiutil.GVKForObject(o, scheme)
		if err != nil {
			return nil, err
		}
		if !informer.IsGeneric(o) {
			r.byType[reflect.TypeOf(o)] = gvk
		}
	}
	r.ParentKind = r.KindOf(parent)
	return r, nil
}

// KindOf returns the kind of an object. A typed object of a kind that the
// controller does not know has none.
func (r *Rules) KindOf(o client.Object) schema.GroupVersionKind {
	if gvk, ok := r.byType[reflect.TypeOf(o)]; ok {
		return gvk
	}
	return o.GetObjectKind().GroupVersionKind()
}

// InputKind returns the kind of an input.
func (r *Rules) InputKind(o client.Object) (*Input, error) {
	gvk := r.KindOf(o)
	for i := range r.Inputs {
		if r.KindOf(r.Inputs[i].Object) == gvk {
			return &r.Inputs[i], nil
		}
	}
	return nil, fmt.Errorf("%T %s is of no input kind", o, o.GetName())
}

// OutputKind returns the kind of an output.
func (r *Rules) OutputKind(o client.Object) (*Output, error) {
	gvk := r.KindOf(o)
	for i := range r.Outputs {
		if r.KindOf(r.Outputs[i].Object) == gvk {
			return &r.Outputs[i], nil
		}
	}
	return nil, fmt.Errorf("%T %s is of no output kind", o, o.GetName())
}

// ID identifies an output among those of a parent.
type ID struct {
	Kind            schema.GroupVersionKind
	Namespace, Name string
}

// IDOf returns the ID of an output.
func (r *Rules) IDOf(o client.Object) ID {
	return ID{Kind: r.KindOf(o), Namespace: o.GetNamespace(), Name: o.GetName()}
}

// EmptyLike returns an empty object of the same kind, to read into.
func EmptyLike(o client.Object) client.Object {
	empty := reflect.New(reflect.TypeOf(o).Elem()).Interface().(client.Object)
	if informer.IsGeneric(o) {
		empty.GetObjectKind().SetGroupVersionKind(o.GetObjectKind().GroupVersionKind())
	}
	return empty
}
