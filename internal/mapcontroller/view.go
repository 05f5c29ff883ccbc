// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package mapcontroller

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// view reads from the stores, always by index or by name. What it returns is
// shared with the cache: it must never be changed.
type view struct {
	*Stores
	indexes
}

// parent returns nil if there is none.
func (v view) parent(kind client.Object, name types.NamespacedName) (client.Object, error) {
	for _, store := range v.stores(kind) {
		o, ok, err := store.GetByKey(toolscache.ObjectName(name).String())
		if err != nil {
			return nil, err
		}
		if ok {
			return o.(client.Object), nil
		}
	}
	return nil, nil
}

// parents returns those of a namespace.
func (v view) parents(kind client.Object, namespace string) ([]client.Object, error) {
	return ByIndex(v.Stores, kind, toolscache.NamespaceIndex, namespace)
}

func (v view) allParents(kind client.Object) []client.Object {
	var all []client.Object
	for _, store := range v.stores(kind) {
		for _, o := range store.List() {
			all = append(all, o.(client.Object))
		}
	}
	return all
}

// inputs returns those of a kind that a selector matches.
func (v view) inputs(kind Input, namespace string, selector labels.Selector) ([]client.Object, error) {
	all, err := ByIndex(v.Stores, kind.Object, toolscache.NamespaceIndex, namespace)
	return slices.DeleteFunc(all, func(o client.Object) bool { return !selector.Matches(labels.Set(o.GetLabels())) }), err
}

// input returns the object that a map key stands for, or nil.
func (v view) input(kinds []Input, namespace, mapKey string) (client.Object, error) {
	for _, in := range kinds {
		found, err := ByIndex(v.Stores, in.Object, v.key, namespaced(namespace, mapKey))
		if err != nil {
			return nil, err
		}
		if len(found) > 0 {
			return found[0], nil
		}
	}
	return nil, nil
}

// claimable returns what a parent controls for a map key, and the orphans that
// name both, the oldest first: a decision must not hang on the order of a hash.
// An empty map key is one like any other: a label may be empty.
func (v view) claimable(kinds []Output, parent client.Object, mapKey string) ([]client.Object, error) {
	found, err := v.outputs(kinds, parent, func(owner string) (index, value string) { return v.claim, claimValue(owner, mapKey) })
	slices.SortFunc(found, older)
	return found, err
}

func older(a, b client.Object) int {
	if c := a.GetCreationTimestamp().Compare(b.GetCreationTimestamp().Time); c != 0 {
		return c
	}
	return cmp.Compare(a.GetName(), b.GetName())
}

// claimableAll returns the same for all map keys.
func (v view) claimableAll(kinds []Output, parent client.Object) ([]client.Object, error) {
	return v.outputs(kinds, parent, func(owner string) (index, value string) { return v.owner, owner })
}

func (v view) outputs(
	kinds []Output, parent client.Object, by func(owner string) (index, value string),
) ([]client.Object, error) {
	var all []client.Object
	namespace := parent.GetNamespace()
	for _, owner := range [...]string{namespaced(namespace, string(parent.GetUID())), orphanOf(namespace, parent.GetName())} {
		index, value := by(owner)
		for _, out := range kinds {
			found, err := ByIndex(v.Stores, out.Object, index, value)
			if err != nil {
				return nil, err
			}
			if all == nil {
				all = found
			} else {
				all = append(all, found...)
			}
		}
	}
	return all, nil
}
