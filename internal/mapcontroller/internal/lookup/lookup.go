// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package lookup reads what the informers have of parents, inputs, outputs and the children of
// outputs, and tells which key an output belongs to.
package lookup

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/informer"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/plan"
)

// Objects reads parents, inputs, outputs and children from the stores of informers, by index or by
// name: the cost of a read depends on the key, not on the namespace. The objects are shared with
// the cache and must never be changed.
type Objects struct {
	// Decided returns a parent as it is decided about. Nil: as it is.
	Decided func(parent client.Object) client.Object

	stores *informer.Stores
	kinds  *plan.Kinds
	// parent is an empty parent, which selects the store of parents.
	parent        client.Object
	clusterScoped bool
	// byKey finds the inputs of a map key. byOwner finds the outputs of a parent, and the
	// orphans that name it; byOwnerAndKey those of one map key; bySource those that were
	// made from an input.
	byKey, byOwner, byOwnerAndKey, bySource informer.Index
	// byKeyOf are the indexes of programs, by their names.
	byKeyOf keyIndexes
}

// New returns Objects of a controller. Its name prefixes those of the indexes, because two
// controllers may read the same kind. The given parent is an empty one.
func New(name string, kinds *plan.Kinds, parent client.Object, clusterScoped bool, stores *informer.Stores) *Objects {
	l := &Objects{stores: stores, kinds: kinds, parent: parent, clusterScoped: clusterScoped}
	l.byKey = informer.Index{Name: name + "/key", Values: func(input client.Object) []string {
		return []string{l.Scope(input) + "/" + l.kinds.MapKey(input)}
	}}
	l.bySource = informer.Index{Name: name + "/source", Values: func(output client.Object) []string {
		var values []string
		for _, source := range l.kinds.Output(output).Sources(output) {
			values = append(values, l.Scope(output)+"/"+source)
		}
		return values
	}}
	l.byOwner = informer.Index{Name: name + "/owner", Values: l.ownerValues}
	l.byOwnerAndKey = informer.Index{Name: name + "/owner-and-key", Values: func(output client.Object) []string {
		values := l.ownerValues(output)
		for i := range values {
			values[i] += "/" + l.kinds.Ownership.MapKey(output)
		}
		return values
	}}
	return l
}

// InputIndexers returns the indexes that the stores of input kinds need.
func (l *Objects) InputIndexers() toolscache.Indexers { return informer.Indexers(l.byKey) }

// OutputIndexers returns the indexes that the stores of output kinds need.
func (l *Objects) OutputIndexers(kind int) toolscache.Indexers {
	if l.kinds.Outputs[kind].Sources != nil {
		return informer.Indexers(l.byOwner, l.byOwnerAndKey, l.bySource)
	}
	return informer.Indexers(l.byOwner, l.byOwnerAndKey)
}

// Scope is the namespace within which a parent finds an object.
func (l *Objects) Scope(object client.Object) string {
	if l.clusterScoped {
		return ""
	}
	return object.GetNamespace()
}

// ownerValues are the parents by which an output is found: the one that controls it
// or, for an orphan, those that it names, and that its status does.
func (l *Objects) ownerValues(output client.Object) []string {
	if owner := plan.ControllerUID(output); owner != "" {
		return []string{l.ownedBy(l.Scope(output), owner)}
	}
	values := []string{l.orphanOf(l.Scope(output), output.GetLabels()[l.kinds.Ownership.Tags.Parent])}
	if record := l.kinds.Ownership.Record(output); record.UID != "" {
		values = append(values, l.ownedBy(l.Scope(output), record.UID))
	}
	return values
}

func (l *Objects) ownedBy(scope string, parent types.UID) string {
	return scope + "/" + string(parent)
}

func (l *Objects) orphanOf(scope, parent string) string { return scope + "/orphan/" + parent }

// Parent returns the parent of a name, or nil.
func (l *Objects) Parent(name types.NamespacedName) client.Object {
	return l.stores.Get(l.parent, name)
}

// Parents returns the parents that may select an input; all of them for nil.
func (l *Objects) Parents(input client.Object) []client.Object {
	namespace := ""
	if input != nil {
		namespace = l.Scope(input)
	}
	return l.stores.List(l.parent, namespace)
}

// Inputs returns the inputs of a key, and those that its outputs were made from: those that the program selects, and the
// others.
func (l *Objects) Inputs(parent plan.Parent, mapKey string, sources []string) (selected, unselected []client.Object) {
	var found []client.Object
	for i := range l.kinds.Inputs {
		kind := &l.kinds.Inputs[i]
		found = l.stores.ByIndex(found, kind.Object, l.byKey, parent.Object.GetNamespace()+"/"+mapKey)
		for _, source := range sources {
			found = l.stores.ByIndex(found, kind.Object, l.byKey, parent.Object.GetNamespace()+"/"+source)
		}
		if parent.Program.Key == nil {
			continue
		}
		for _, input := range l.sharing(parent, kind.Object, mapKey) {
			if own := l.kinds.MapKey(input); parent.Program.Key(input) == mapKey && own != mapKey && !slices.Contains(sources, own) {
				found = append(found, input)
			}
		}
	}
	return l.kinds.Partition(parent, mapKey, found)
}

// Elsewhere returns the outputs of other keys of a parent that were made from the same inputs as those of a key: from
// those that it selects, or those that its outputs were made from.
func (l *Objects) Elsewhere(parent plan.Parent, mapKey string, selected []client.Object, sources []string) (found []client.Object) {
	if parent.Program.Key != nil {
		for _, input := range selected {
			if own := l.kinds.MapKey(input); own != mapKey && !slices.Contains(sources, own) {
				sources = append(sources, own)
			}
		}
	}
	known := map[client.Object]bool{}
	for _, source := range sources {
		for _, o := range l.MadeFrom(parent.Object.GetNamespace(), source) {
			key := l.kinds.Ownership.MapKey(o)
			if key != mapKey && key != plan.NoMapKey && !known[o] && l.kinds.Ownership.Owns(parent.Object, o) {
				known[o], found = true, append(found, o)
			}
		}
	}
	slices.SortFunc(found, plan.Older)
	return found
}

// Children returns the cached children of outputs.
func (l *Objects) Children(outputs []client.Object) (children []client.Object) {
	for _, o := range outputs {
		if kind := l.kinds.Output(o).Children; kind != nil && !informer.IsGeneric(o) {
			children = append(children, kind.Cached(o)...)
		}
	}
	return children
}

// Outputs returns what a parent controls for a map key, and the orphans that
// name both, the oldest first. Those without a map key
// are found like any other: a label may be empty.
func (l *Objects) Outputs(parent client.Object, mapKey string) []client.Object {
	found := l.outputsBy(parent, l.byOwnerAndKey, "/"+mapKey)
	slices.SortFunc(found, plan.Older)
	return found
}

// MadeFrom returns the outputs in a namespace, of any parent, that were made from an input.
func (l *Objects) MadeFrom(namespace, input string) (all []client.Object) {
	if l.clusterScoped {
		namespace = ""
	}
	for _, kind := range l.kinds.Outputs {
		if kind.Sources != nil {
			all = l.stores.ByIndex(all, kind.Object, l.bySource, namespace+"/"+input)
		}
	}
	return all
}

func (l *Objects) outputsBy(parent client.Object, index informer.Index, suffix string) (all []client.Object) {
	scope := parent.GetNamespace()
	for _, owner := range [...]string{l.ownedBy(scope, parent.GetUID()), l.orphanOf(scope, parent.GetName())} {
		value := owner + suffix
		for i := range l.kinds.Outputs {
			all = l.stores.ByIndex(all, l.kinds.Outputs[i].Object, index, value)
		}
	}
	if l.kinds.Ownership.Recorded != nil { // which an orphan with tags may be, too
		known := map[client.Object]bool{}
		all = slices.DeleteFunc(all, func(o client.Object) bool {
			twice := known[o]
			known[o] = true
			return twice
		})
	}
	return all
}

// Request returns the key that an output belongs to, and whether the parent controls
// it or owns it by its labels. What another kind controls belongs to none, and so does
// nil.
func (l *Objects) Request(output client.Object) (req plan.Request, owned bool) {
	if output == nil {
		return req, false
	}
	name := cmp.Or(l.kinds.Ownership.Record(output).Name, output.GetLabels()[l.kinds.Ownership.Tags.Parent])
	if ref := metav1.GetControllerOfNoCopy(output); ref != nil {
		if !l.kinds.Ownership.IsParent(ref) {
			return plan.Request{}, false
		}
		name, owned = ref.Name, true
	}
	req = plan.Request{
		Parent: client.ObjectKey{Namespace: l.Scope(output), Name: name},
		MapKey: l.kinds.Ownership.MapKey(output),
	}
	if !owned && !req.IsSearch() {
		parent := l.Parent(req.Parent)
		if parent != nil && l.Decided != nil {
			parent = l.Decided(parent)
		}
		owned = parent != nil && l.kinds.Ownership.Owns(parent, output)
	}
	return req, owned
}

// MapKeys returns the map keys of a parent: those of the selected inputs and those
// found on its outputs, without which no tombstone would be reconciled. Of an
// invalid spec only the outputs are known. Keys may repeat.
func (l *Objects) MapKeys(parent plan.Parent) []string {
	var keys []string
	if parent.Invalid == nil {
		for _, kind := range l.kinds.Inputs {
			for _, input := range l.stores.List(kind.Object, parent.Object.GetNamespace()) {
				if key := l.kinds.Key(parent, input); key != plan.NoMapKey && parent.Program.Selects(input) {
					keys = append(keys, key)
				}
			}
		}
	}
	for _, output := range l.outputsBy(parent.Object, l.byOwner, "") {
		keys = append(keys, l.kinds.Ownership.MapKey(output))
	}
	return keys
}
