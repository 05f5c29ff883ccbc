// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package mapcontroller

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mapcontroller.dev/snapshotschedule/internal/informer"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/plan"
)

// observer reads one controller's parents, inputs and outputs from the informers' stores,
// by index or by name: the cost of a read depends on the key, not on the namespace. The
// objects are shared with the cache and must never be changed.
type observer struct {
	stores *informer.Stores
	kinds  *plan.Kinds
	// mapKey returns the map key of an input.
	mapKey func(metav1.Object) string
	// parent is an empty parent.
	parent client.Object
	// clusterScoped is set if the parents are: their inputs and outputs are in any
	// namespace, or in none.
	clusterScoped bool

	// byKey finds the inputs of a map key.
	byKey informer.Index
	// byOwner finds the outputs of a parent, and the orphans that name it.
	byOwner informer.Index
	// byOwnerAndKey finds the outputs of a parent for one map key, and the orphans that
	// name both.
	byOwnerAndKey informer.Index
}

// newObserver returns an observer. The controller's name prefixes the names of its
// indexes, because two controllers may read the same kind.
func newObserver(
	name string, stores *informer.Stores, kinds *plan.Kinds, parent client.Object, clusterScoped bool, mapKey func(metav1.Object) string,
) *observer {
	o := &observer{stores: stores, kinds: kinds, mapKey: mapKey, parent: parent, clusterScoped: clusterScoped}
	o.byKey = informer.Index{Name: name + "/key", Values: func(input client.Object) []string {
		return []string{o.Scope(input) + "/" + mapKey(input)}
	}}
	o.byOwner = informer.Index{Name: name + "/owner", Values: func(output client.Object) []string {
		return []string{o.ownerValue(output)}
	}}
	o.byOwnerAndKey = informer.Index{Name: name + "/owner-and-key", Values: func(output client.Object) []string {
		return []string{o.ownerValue(output) + "/" + output.GetLabels()[kinds.Tags.MapKey]}
	}}
	return o
}

// InputIndexers returns the indexes that input kinds need.
func (o *observer) InputIndexers() toolscache.Indexers { return informer.Indexers(o.byKey) }

// OutputIndexers returns the indexes that output kinds need.
func (o *observer) OutputIndexers() toolscache.Indexers {
	return informer.Indexers(o.byOwner, o.byOwnerAndKey)
}

// Scope is the namespace within which a parent finds an object.
func (o *observer) Scope(object client.Object) string {
	if o.clusterScoped {
		return ""
	}
	return object.GetNamespace()
}

// ownerValue is the parent by which an output is found: the one that controls it
// or, for an orphan, the one that it names.
func (o *observer) ownerValue(output client.Object) string {
	if owner := plan.ControllerUID(output); owner != "" {
		return o.ownedBy(o.Scope(output), owner)
	}
	return o.orphanOf(o.Scope(output), output.GetLabels()[o.kinds.Tags.Parent])
}

func (o *observer) ownedBy(scope string, parent types.UID) string {
	return scope + "/" + string(parent)
}

func (o *observer) orphanOf(scope, parent string) string { return scope + "/orphan/" + parent }

// Parent returns the parent of a name, or nil.
func (o *observer) Parent(name types.NamespacedName) client.Object {
	return o.stores.Get(o.parent, name)
}

// Parents returns the parents that may select an input; all of them for nil.
func (o *observer) Parents(input client.Object) []client.Object {
	if input == nil || o.clusterScoped {
		return o.stores.List(o.parent, "")
	}
	return o.stores.List(o.parent, input.GetNamespace())
}

// Inputs returns the inputs of a key, those that the program selects and the
// others.
func (o *observer) Inputs(parent plan.Parent, mapKey string) (selected, unselected []client.Object) {
	var found []client.Object
	for _, kind := range o.kinds.Inputs {
		found = o.stores.ByIndex(found, kind.Object, o.byKey, parent.Object.GetNamespace()+"/"+mapKey)
	}
	return parent.Partition(found)
}

// Outputs returns what a parent controls for a map key, and the orphans that
// name both, the oldest first. Those without a map key
// are found like any other: a label may be empty.
func (o *observer) Outputs(parent client.Object, mapKey string) []client.Object {
	found := o.outputs(parent, o.byOwnerAndKey, "/"+mapKey)
	slices.SortFunc(found, plan.Older)
	return found
}

func (o *observer) outputs(parent client.Object, index informer.Index, suffix string) (all []client.Object) {
	scope := parent.GetNamespace()
	for _, owner := range [...]string{o.ownedBy(scope, parent.GetUID()), o.orphanOf(scope, parent.GetName())} {
		for _, kind := range o.kinds.Outputs {
			all = o.stores.ByIndex(all, kind.Object, index, owner+suffix)
		}
	}
	return all
}

// Request returns the key that an output belongs to, and whether the parent controls
// it or owns it by its labels. What another kind controls belongs to none, and so does
// nil.
func (o *observer) Request(output client.Object) (req plan.Request, owned bool) {
	if output == nil {
		return req, false
	}
	name := output.GetLabels()[o.kinds.Tags.Parent]
	if ref := metav1.GetControllerOfNoCopy(output); ref != nil {
		if !o.kinds.IsParent(ref) {
			return plan.Request{}, false
		}
		name, owned = ref.Name, true
	}
	req = plan.Request{
		Parent: client.ObjectKey{Namespace: o.Scope(output), Name: name},
		MapKey: output.GetLabels()[o.kinds.Tags.MapKey],
	}
	if !owned && !req.IsSearch() {
		parent := o.Parent(req.Parent)
		owned = parent != nil && o.kinds.Owns(parent, output)
	}
	return req, owned
}

// Keys returns the map keys of a parent: those of the selected inputs and those
// found on its outputs, without which no tombstone would be reconciled. Of an
// invalid spec only the outputs are known. Keys may repeat.
func (o *observer) Keys(parent plan.Parent) []string {
	var keys []string
	if parent.Invalid == nil {
		for _, kind := range o.kinds.Inputs {
			for _, input := range o.stores.List(kind.Object, parent.Object.GetNamespace()) {
				if parent.Program.Selects(input) {
					keys = append(keys, o.mapKey(input))
				}
			}
		}
	}
	for _, output := range o.outputs(parent.Object, o.byOwner, "") {
		keys = append(keys, output.GetLabels()[o.kinds.Tags.MapKey])
	}
	return keys
}
