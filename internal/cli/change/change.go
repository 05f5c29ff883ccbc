// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package change is what a command sends, as a value, so that what decides about it needs no cluster.
//
//	step.go    what a command does next
//	change.go  one request
package change

import (
	"encoding/json"
	"maps"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Change is one request: a create, a delete with the object's UID and resourceVersion as preconditions, or a merge patch of an
// object.
type Change struct {
	Create, Delete, Object client.Object
	Patch                  []byte
}

// Of returns whether the change is one of an object.
func (c *Change) Of(o client.Object) bool {
	return c.Object != nil && c.Object.GetUID() == o.GetUID() || c.Delete != nil && c.Delete.GetUID() == o.GetUID()
}

// Patch patches the metadata and the spec of an object, unless it has changed. A nil value removes a key.
func Patch(o client.Object, metadata, spec map[string]any) Change {
	return Change{Object: o, Patch: Merge(o, metadata, spec)}
}

// Annotate patches annotations of an object, unless it has changed.
func Annotate(o client.Object, annotations map[string]any) Change {
	return Patch(o, map[string]any{"annotations": annotations}, nil)
}

// Merge is the merge patch of Patch.
func Merge(o client.Object, metadata, spec map[string]any) []byte {
	meta := map[string]any{"resourceVersion": o.GetResourceVersion()}
	maps.Copy(meta, metadata)
	content := map[string]any{"metadata": meta}
	if spec != nil {
		content["spec"] = spec
	}
	return text(content)
}

// Mark is a merge patch of annotations, of this object and no other one of its name, also if it has changed.
func Mark(o client.Object, annotations map[string]any) Change {
	return Change{Object: o, Patch: text(map[string]any{"metadata": map[string]any{"uid": o.GetUID(), "annotations": annotations}})}
}

func text(content map[string]any) []byte {
	text, err := json.Marshal(content)
	if err != nil {
		panic(err) // texts, numbers, and references to owners
	}
	return text
}
