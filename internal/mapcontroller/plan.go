// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package mapcontroller

import (
	"reflect"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// plan is the difference between the observed and the desired outputs of a
// key.
type plan struct {
	create []client.Object
	// update are desired outputs that an observed one of their name should
	// follow.
	update []client.Object
	delete []client.Object
}

// outputID names an output within its namespace.
type outputID struct {
	kind reflect.Type
	name string
}

func idOf(o client.Object) outputID {
	return outputID{kind: reflect.TypeOf(o), name: o.GetName()}
}

// diff compares by kind and name. An observed output that is desired as it is
// needs nothing; one that is already being deleted is never deleted again.
func diff(observed, desired []client.Object) plan {
	var p plan
	if rest, ok := without(observed, desired); ok {
		p.delete = slices.DeleteFunc(rest, func(o client.Object) bool { return o.GetDeletionTimestamp() != nil })
		return p
	}
	have, wanted := byID(observed), byID(desired)
	for _, want := range desired {
		switch have[idOf(want)] {
		case nil:
			p.create = append(p.create, want)
		case want:
		default:
			p.update = append(p.update, want)
		}
	}
	for _, o := range observed {
		if o.GetDeletionTimestamp() == nil && wanted[idOf(o)] == nil {
			p.delete = append(p.delete, o)
		}
	}
	return p
}

// without returns the observed outputs that are not desired, if all desired ones
// are observed ones, as they are and in the same order: so it is for most looks.
func without(observed, desired []client.Object) (rest []client.Object, ok bool) {
	for _, o := range observed {
		if len(desired) > 0 && o == desired[0] {
			desired = desired[1:]
		} else {
			rest = append(rest, o)
		}
	}
	return rest, len(desired) == 0
}

func byID(objects []client.Object) map[outputID]client.Object {
	m := make(map[outputID]client.Object, len(objects))
	for _, o := range objects {
		m[idOf(o)] = o
	}
	return m
}
