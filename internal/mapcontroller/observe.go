// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package mapcontroller

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/informer"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/plan"
)

// What is read of parents, inputs and outputs comes from the informers' stores, by index or by
// name: the cost of a read depends on the key, not on the namespace. The objects are shared with
// the cache and must never be changed.

// index sets the indexes. The controller's name prefixes their names, because two controllers
// may read the same kind.
func (c *Controller) index() {
	c.byKey = informer.Index{Name: c.spec.Name + "/key", Values: func(input client.Object) []string {
		return []string{c.scope(input) + "/" + c.kinds.MapKey(input)}
	}}
	c.bySource = informer.Index{Name: c.spec.Name + "/source", Values: func(output client.Object) []string {
		var values []string
		for _, source := range c.kinds.Output(output).Sources(output) {
			values = append(values, c.scope(output)+"/"+source)
		}
		return values
	}}
	c.byOwner = informer.Index{Name: c.spec.Name + "/owner", Values: func(output client.Object) []string {
		return []string{c.ownerValue(output)}
	}}
	c.byOwnerAndKey = informer.Index{Name: c.spec.Name + "/owner-and-key", Values: func(output client.Object) []string {
		return []string{c.ownerValue(output) + "/" + output.GetLabels()[c.spec.Tags.MapKey]}
	}}
}

// InputIndexers returns the indexes that the stores of input kinds need.
func (c *Controller) InputIndexers() toolscache.Indexers { return informer.Indexers(c.byKey) }

// OutputIndexers returns the indexes that the stores of output kinds need.
func (c *Controller) OutputIndexers(kind int) toolscache.Indexers {
	if c.kinds.Outputs[kind].Sources != nil {
		return informer.Indexers(c.byOwner, c.byOwnerAndKey, c.bySource)
	}
	return informer.Indexers(c.byOwner, c.byOwnerAndKey)
}

// scope is the namespace within which a parent finds an object.
func (c *Controller) scope(object client.Object) string {
	if c.spec.ClusterScoped {
		return ""
	}
	return object.GetNamespace()
}

// ownerValue is the parent by which an output is found: the one that controls it
// or, for an orphan, the one that it names.
func (c *Controller) ownerValue(output client.Object) string {
	if owner := plan.ControllerUID(output); owner != "" {
		return c.ownedBy(c.scope(output), owner)
	}
	return c.orphanOf(c.scope(output), output.GetLabels()[c.kinds.Ownership.Tags.Parent])
}

func (c *Controller) ownedBy(scope string, parent types.UID) string {
	return scope + "/" + string(parent)
}

func (c *Controller) orphanOf(scope, parent string) string { return scope + "/orphan/" + parent }

// cachedParent returns the parent of a name, or nil.
func (c *Controller) cachedParent(name types.NamespacedName) client.Object {
	return c.options.Stores.Get(c.emptyParent, name)
}

// parents returns the parents that may select an input; all of them for nil.
func (c *Controller) parents(input client.Object) []client.Object {
	namespace := ""
	if input != nil {
		namespace = c.scope(input)
	}
	return c.options.Stores.List(c.emptyParent, namespace)
}

// inputs returns the inputs of a key, those that the program selects and the
// others. Where the program has keys of its own, they are looked for among all inputs.
func (c *Controller) inputs(parent plan.Parent, mapKey string, outputs []client.Object) (selected, unselected []client.Object) {
	var found []client.Object
	sources := c.kinds.Sources(outputs)
	for i := range c.kinds.Inputs {
		kind := &c.kinds.Inputs[i]
		found = c.options.Stores.ByIndex(found, kind.Object, c.byKey, parent.Object.GetNamespace()+"/"+mapKey)
		for _, source := range sources {
			found = c.options.Stores.ByIndex(found, kind.Object, c.byKey, parent.Object.GetNamespace()+"/"+source)
		}
		if parent.Program.Key == nil {
			continue
		}
		for _, input := range c.options.Stores.List(kind.Object, parent.Object.GetNamespace()) {
			if own := c.kinds.MapKey(input); parent.Program.Key(input) == mapKey && own != mapKey && !slices.Contains(sources, own) {
				found = append(found, input)
			}
		}
	}
	return c.kinds.Partition(parent, mapKey, found)
}

// children returns the labeled children of outputs.
func (c *Controller) children(outputs []client.Object) (children []client.Object) {
	for _, o := range outputs {
		if kind := c.kinds.Output(o).Children; kind != nil && !informer.IsGeneric(o) {
			found := c.childStores.ByIndex(nil, kind.Object, byOutput(kind), o.GetNamespace()+"/"+o.GetName())
			children = append(children, kind.Of(o, found)...)
		}
	}
	return children
}

// byOutput finds children by the output that their label names.
func byOutput(kind *plan.Children) informer.Index {
	return informer.Index{Name: "output", Values: func(child client.Object) []string {
		return []string{child.GetNamespace() + "/" + child.GetLabels()[kind.Label]}
	}}
}

// outputs returns what a parent controls for a map key, and the orphans that
// name both, the oldest first. Those without a map key
// are found like any other: a label may be empty.
func (c *Controller) outputs(parent client.Object, mapKey string) []client.Object {
	found := c.outputsBy(parent, c.byOwnerAndKey, "/"+mapKey)
	slices.SortFunc(found, plan.Older)
	return found
}

// outputsOf implements Access.Outputs.
func (c *Controller) outputsOf(req Request) []client.Object {
	if parent := c.cachedParent(req.Parent); parent != nil {
		return c.outputs(parent, req.MapKey)
	}
	return nil
}

// inputsOf implements Access.Inputs.
func (c *Controller) inputsOf(req Request) (keys []string) {
	if parent, ok := c.parent(req.Parent); ok && parent.Invalid == nil {
		selected, _ := c.inputs(parent, req.MapKey, nil)
		for _, input := range selected {
			keys = append(keys, c.kinds.MapKey(input))
		}
	}
	return keys
}

// madeFrom implements Access.MadeFrom.
func (c *Controller) madeFrom(namespace, input string) (all []client.Object) {
	if c.spec.ClusterScoped {
		namespace = ""
	}
	for _, kind := range c.kinds.Outputs {
		if kind.Sources != nil {
			all = c.options.Stores.ByIndex(all, kind.Object, c.bySource, namespace+"/"+input)
		}
	}
	return all
}

func (c *Controller) outputsBy(parent client.Object, index informer.Index, suffix string) (all []client.Object) {
	scope := parent.GetNamespace()
	for _, owner := range [...]string{c.ownedBy(scope, parent.GetUID()), c.orphanOf(scope, parent.GetName())} {
		value := owner + suffix
		for i := range c.kinds.Outputs {
			all = c.options.Stores.ByIndex(all, c.kinds.Outputs[i].Object, index, value)
		}
	}
	return all
}

// request returns the key that an output belongs to, and whether the parent controls
// it or owns it by its labels. What another kind controls belongs to none, and so does
// nil.
func (c *Controller) request(output client.Object) (req Request, owned bool) {
	if output == nil {
		return req, false
	}
	name := output.GetLabels()[c.kinds.Ownership.Tags.Parent]
	if ref := metav1.GetControllerOfNoCopy(output); ref != nil {
		if !c.kinds.Ownership.IsParent(ref) {
			return Request{}, false
		}
		name, owned = ref.Name, true
	}
	req = Request{
		Parent: client.ObjectKey{Namespace: c.scope(output), Name: name},
		MapKey: output.GetLabels()[c.kinds.Ownership.Tags.MapKey],
	}
	if !owned && !req.IsSearch() {
		parent := c.cachedParent(req.Parent)
		owned = parent != nil && c.kinds.Ownership.Owns(parent, output)
	}
	return req, owned
}

// mapKeys returns the map keys of a parent: those of the selected inputs and those
// found on its outputs, without which no tombstone would be reconciled. Of an
// invalid spec only the outputs are known. Keys may repeat.
func (c *Controller) mapKeys(parent plan.Parent) []string {
	var keys []string
	if parent.Invalid == nil {
		for _, kind := range c.kinds.Inputs {
			for _, input := range c.options.Stores.List(kind.Object, parent.Object.GetNamespace()) {
				if key := c.kinds.Key(parent, input); key != plan.NoMapKey && parent.Program.Selects(input) {
					keys = append(keys, key)
				}
			}
		}
	}
	for _, output := range c.outputsBy(parent.Object, c.byOwner, "") {
		keys = append(keys, output.GetLabels()[c.kinds.Ownership.Tags.MapKey])
	}
	return keys
}
