// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// Input is a kind whose objects are mapped, or are related.
type Input struct {
	// Object is an empty object of the kind; an Unstructured must have its
	// GroupVersionKind set.
	Object client.Object
	// Resource is the plural under which status counts the kind; not of a related one.
	Resource string
	// Changed returns whether an update may change a decision. Changes of labels,
	// controller, UID and deletionTimestamp always count. Nil: every update counts.
	Changed func(before, after client.Object) bool
	// Optional is set for a related kind that decisions can do without: see Output.Optional.
	Optional bool
	// Live is set for a related kind whose objects confirm deletes: those that a decision
	// read are read live before a delete. The kind may be missing, or not be allowed to be
	// listed; then the cache has none of it.
	Live bool
	// Concerns returns whether a change of an object of a related kind enqueues a parent's
	// keys. Nil: those of every parent.
	Concerns func(related, parent client.Object) bool
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
	// Conditions returns the conditions of an output, of which status counts those
	// that are true. Nil: StatusConditions.
	Conditions func(client.Object) []metav1.Condition
	// Covers returns whether an existing object of a desired output's name makes
	// it unnecessary. It is asked about the parent's own outputs and about objects
	// that nothing controls. Nil: an output of the parent does if it does not differ.
	Covers func(desired, existing client.Object) bool
	// Adoptable returns whether a parent may adopt an orphan that carries its tags. Nil:
	// it may.
	Adoptable func(parent, orphan client.Object) bool
	// Deletable is asked last before an output is deleted, and may read live what no
	// cache shows. Nil: everything that is confirmed is deleted.
	Deletable func(ctx context.Context, live client.Reader, o client.Object) (bool, error)
	// OnChange is called for every event of an output, before its key is enqueued. before
	// is nil if it is new, and after if it is gone or not owned; never both.
	OnChange func(parent types.NamespacedName, before, after client.Object)

	// Optional is set if the kind may be missing, or not be allowed to be listed. Decisions
	// are made without it then, and are told so. It is looked for while a program needs it.
	Optional bool
	// Sources returns the MapController.MapKey of the inputs that an output was made from.
	// Nil: that is its map key.
	Sources func(output client.Object) []string
	// Children are what something else makes for an output. If nil, nothing does.
	Children *Children
	// Settles is how old an output must be before it may be deleted, by anybody: its
	// parent keeps MapController.Finalizer as long. Zero: it may be at once.
	Settles time.Duration
}

// Children are how decisions read objects that something else makes for an output. All are set, except that only a controller
// needs Cached.
type Children struct {
	// Is returns whether an object is a child of an output.
	Is func(output, o client.Object) bool
	// Cached returns the children of an output that a cache has. Their events are their user's: see Access.KeyOf.
	Cached func(output client.Object) []client.Object
	// Live lists those that the API server has, perhaps with others. Before a delete, it replaces the children of the evidence
	// and of what is deleted.
	Live func(ctx context.Context, live client.Reader, output client.Object) ([]client.Object, error)
}

// Kinds are the kinds of one controller, told apart by GroupVersionKind.
type Kinds struct {
	Ownership Ownership
	Inputs    []Input
	Outputs   []Output
	// MapKey returns the key of an input, where a parent's program does not.
	MapKey func(metav1.Object) string
	// Finalizer is that of parents whose outputs have to settle.
	Finalizer string
	// Needed are the kinds of inputs, outputs and related objects, without those in Live
	// and in Optional.
	Needed []schema.GroupVersionKind
	// Optional are those that decisions can do without.
	Optional []schema.GroupVersionKind
	// Live are the related kinds that are read live before a delete.
	Live []schema.GroupVersionKind

	byType  map[reflect.Type]schema.GroupVersionKind
	inputs  map[schema.GroupVersionKind]*Input
	outputs map[schema.GroupVersionKind]*Output
}

// NewKinds resolves the kinds, that of the parent included. It returns an error for a
// kind that the scheme does not know.
func NewKinds(
	scheme *runtime.Scheme, parent client.Object, owns Ownership, inputs []Input, outputs []Output, related ...Input,
) (*Kinds, error) {
	k := &Kinds{
		Ownership: owns, Inputs: inputs, Outputs: outputs, byType: map[reflect.Type]schema.GroupVersionKind{},
		inputs: map[schema.GroupVersionKind]*Input{}, outputs: map[schema.GroupVersionKind]*Output{},
		MapKey: func(input metav1.Object) string { return string(input.GetUID()) },
	}
	var unknown []error
	resolve := func(o client.Object) schema.GroupVersionKind {
		gvk, err := apiutil.GVKForObject(o, scheme)
		unknown = append(unknown, err)
		if !informer.IsGeneric(o) {
			k.byType[reflect.TypeOf(o)] = gvk
		}
		k.Needed = append(k.Needed, gvk)
		return gvk
	}
	k.Ownership.Parent = resolve(parent)
	k.Needed = nil
	for i := range inputs {
		k.inputs[resolve(inputs[i].Object)] = &inputs[i]
	}
	for i := range outputs {
		gvk := resolve(outputs[i].Object)
		k.outputs[gvk] = &outputs[i]
		if outputs[i].Optional {
			k.Needed, k.Optional = k.Needed[:len(k.Needed)-1], append(k.Optional, gvk)
		}
		if outputs[i].Conditions == nil {
			outputs[i].Conditions = StatusConditions
		}
	}
	for i := range related {
		switch gvk := resolve(related[i].Object); {
		case related[i].Live:
			k.Needed, k.Live = k.Needed[:len(k.Needed)-1], append(k.Live, gvk)
		case related[i].Optional:
			k.Needed, k.Optional = k.Needed[:len(k.Needed)-1], append(k.Optional, gvk)
		}
	}
	return k, errors.Join(unknown...)
}

// Of returns the kind of an object. A typed object of a kind that the controller
// does not know has none.
func (k *Kinds) Of(o client.Object) schema.GroupVersionKind {
	if gvk, ok := k.byType[reflect.TypeOf(o)]; ok {
		return gvk
	}
	return o.GetObjectKind().GroupVersionKind()
}

// Input returns the kind of an input; nil if it is of none.
func (k *Kinds) Input(o client.Object) *Input { return k.inputs[k.Of(o)] }

// Output returns the kind of an output; nil if it is of none.
func (k *Kinds) Output(o client.Object) *Output { return k.outputs[k.Of(o)] }

// Key returns the map key of an input of a parent.
func (k *Kinds) Key(parent Parent, input client.Object) string {
	if parent.Invalid == nil && parent.Program.Key != nil {
		return parent.Program.Key(input)
	}
	return k.MapKey(input)
}

// Sources returns the MapKey of the inputs that some outputs were made from, where these are
// not their map key.
func (k *Kinds) Sources(outputs []client.Object) (sources []string) {
	known := map[string]bool{}
	for _, o := range outputs {
		if kind := k.Output(o); kind.Sources != nil && !informer.IsGeneric(o) {
			for _, source := range kind.Sources(o) {
				if !known[source] {
					known[source], sources = true, append(sources, source)
				}
			}
		}
	}
	return sources
}

// IsLive returns whether a related object is read live before a delete.
func (k *Kinds) IsLive(related client.Object) bool { return slices.Contains(k.Live, k.Of(related)) }

// ID identifies an output among those of a parent.
type ID struct {
	Kind            schema.GroupVersionKind
	Namespace, Name string
}

// ID returns the ID of an output.
func (k *Kinds) ID(o client.Object) ID {
	return ID{Kind: k.Of(o), Namespace: o.GetNamespace(), Name: o.GetName()}
}

// Find returns the object with the ID of o, or nil.
func (k *Kinds) Find(objects []client.Object, o client.Object) client.Object {
	id := k.ID(o)
	for _, found := range objects {
		if found == o || (found.GetName() == id.Name && k.ID(found) == id) {
			return found
		}
	}
	return nil
}

// EmptyLike returns an empty object of the same kind, to read into.
func EmptyLike(o client.Object) client.Object {
	empty := reflect.New(reflect.TypeOf(o).Elem()).Interface().(client.Object)
	if informer.IsGeneric(o) {
		empty.GetObjectKind().SetGroupVersionKind(o.GetObjectKind().GroupVersionKind())
	}
	return empty
}

// Fields reads some fields of an object of any kind.
func Fields(o client.Object, into any) error {
	content, err := json.Marshal(o)
	if err == nil {
		err = json.Unmarshal(content, into)
	}
	return err
}

// SameSpec returns whether two objects have an equal spec. It marshals nothing, because
// every write of a parent's status asks.
func SameSpec(a, b client.Object) bool { return equality.Semantic.DeepEqual(specOf(a), specOf(b)) }

// specOf returns the spec of an object, or a pointer to it; nil if it has none.
func specOf(o client.Object) any {
	if u, ok := o.(runtime.Unstructured); ok {
		return u.UnstructuredContent()["spec"]
	}
	if spec := reflect.ValueOf(o).Elem().FieldByName("Spec"); spec.IsValid() {
		return spec.Addr().Interface()
	}
	return nil
}

// Spec returns the spec of an object as JSON.
func Spec(o client.Object) string {
	var fields struct {
		Spec json.RawMessage `json:"spec"`
	}
	_ = Fields(o, &fields) // it was read from JSON
	return string(fields.Spec)
}
