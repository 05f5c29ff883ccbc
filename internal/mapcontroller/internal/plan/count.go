// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"
	"strings"
	"unique"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/informer"
)

// Count is what a key adds to a number of the aggregated status. There are many
// keys and few numbers, so that a key holds handles.
type Count struct {
	Path unique.Handle[Path]
	N    int
}

// Path names a number of the aggregated status: inputs.<plural>.total,
// outputs.<plural>.total, outputs.<plural>.<condition>, detached.<plural> and
// detached.mapKeys.
type Path [3]string

// String returns the path with dots. Conditions are named as status fields are:
// Ready as ready.
func (p Path) String() string {
	first := min(1, len(p[2]))
	return strings.TrimSuffix(p[0]+"."+p[1]+"."+strings.ToLower(p[2][:first])+p[2][first:], ".")
}

// Counts returns what the key of a plan adds to its parent's counts, without some outputs. A condition that is
// not true of any output adds zero, so that the count appears.
func (k *Kinds) Counts(p *Plan, without []client.Object) []Count {
	owned := p.counted
	if len(without) > 0 {
		owned = slices.DeleteFunc(slices.Clone(owned), func(o client.Object) bool { return slices.Contains(without, o) })
	}
	counts := make([]Count, 0, 4)
	add := func(n int, path Path) {
		handle := unique.Make(path)
		i := slices.IndexFunc(counts, func(c Count) bool { return c.Path == handle })
		if i < 0 {
			i, counts = len(counts), append(counts, Count{Path: handle})
		}
		counts[i].N += n
	}
	for _, o := range p.selected {
		add(1, Path{"inputs", k.Input(o).Resource, "total"})
	}
	if p.detached && len(owned) > 0 {
		add(1, Path{"detached", "mapKeys"})
	}
	for _, o := range owned {
		kind := k.Output(o)
		add(1, Path{"outputs", kind.Resource, "total"})
		if p.detached {
			add(1, Path{"detached", kind.Resource})
		}
		if informer.IsGeneric(o) && !informer.IsGeneric(kind.Object) {
			continue // only the metadata is known of what lost its map key
		}
		for _, c := range kind.Conditions(o) {
			add(0, Path{"outputs", kind.Resource, c.Type})
			if c.Status == metav1.ConditionTrue {
				add(1, Path{"outputs", kind.Resource, c.Type})
			}
		}
	}
	return counts
}

// StatusConditions returns an object's status.conditions. It marshals the object: a kind that
// has many outputs for a key should have Conditions of its own.
func StatusConditions(o client.Object) []metav1.Condition {
	var fields struct {
		Status struct{ Conditions []metav1.Condition }
	}
	_ = Fields(o, &fields) // a status that is otherwise has none
	return fields.Status.Conditions
}
