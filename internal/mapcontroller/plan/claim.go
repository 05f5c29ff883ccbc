// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Claims are the outputs that concern a parent, sorted by the laws of the
// ControllerRef proposal. What something else controls is in none of them: it
// is neither touched nor counted.
type Claims struct {
	// Owned are controlled by the parent and carry its tags.
	Owned []client.Object
	// Adopt are orphans that carry the parent's tags.
	Adopt []client.Object
	// Release are controlled by the parent, but their tags name another parent or
	// no map key.
	Release []client.Object
}

// Claim sorts outputs. Orphans that are being deleted are left alone.
func (t Tags) Claim(parent client.Object, outputs []client.Object) Claims {
	var c Claims
	for i, o := range outputs {
		switch ref := metav1.GetControllerOfNoCopy(o); {
		case t.owned(ref, parent, o):
			if len(c.Owned) == i {
				c.Owned = outputs[: i+1 : i+1] // mostly all are owned: no copy
			} else {
				c.Owned = append(c.Owned, o)
			}
		case ref != nil && ref.UID == parent.GetUID():
			c.Release = append(c.Release, o)
		case ref == nil && t.tagged(parent, o) && o.GetDeletionTimestamp() == nil:
			c.Adopt = append(c.Adopt, o)
		}
	}
	return c
}

// Owns returns whether an output is the parent's own.
func (t Tags) Owns(parent, output client.Object) bool {
	return t.owned(metav1.GetControllerOfNoCopy(output), parent, output)
}

func (t Tags) owned(ref *metav1.OwnerReference, parent, output client.Object) bool {
	return ref != nil && ref.UID == parent.GetUID() && t.tagged(parent, output)
}

func (t Tags) tagged(parent, output client.Object) bool {
	labels := output.GetLabels()
	return labels[t.Parent] == parent.GetName() && labels[t.MapKey] != ""
}

// ControllerUID returns the UID of an object's controller, empty if it has none.
func ControllerUID(o client.Object) types.UID {
	if ref := metav1.GetControllerOfNoCopy(o); ref != nil {
		return ref.UID
	}
	return ""
}

// Controls returns whether a parent controls an object. An input that it
// controls is never selected: otherwise a selector that matches the parent's own
// outputs would map them without end.
func Controls(parent, o client.Object) bool { return ControllerUID(o) == parent.GetUID() }

// IsParent returns whether an owner reference names a parent, of any version: a
// parent keeps its outputs when its API moves on.
func (r *Rules) IsParent(ref *metav1.OwnerReference) bool {
	if ref == nil || ref.Kind != r.ParentKind.Kind {
		return false
	}
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	return err == nil && gv.Group == r.ParentKind.Group
}
