// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Claim sorts outputs by the laws of the ControllerRef proposal: those that the
// parent controls and that carry its tags are owned; orphans that carry its tags are
// to be adopted, unless they are being deleted; those that it controls, but whose
// tags name another parent or no map key, are to be released. What something else
// controls is neither touched nor counted.
func (t Tags) Claim(parent client.Object, outputs []client.Object) (owned, adopt, release []client.Object) {
	owned = make([]client.Object, 0, len(outputs))
	for _, o := range outputs {
		switch ref := metav1.GetControllerOfNoCopy(o); {
		case t.owned(ref, parent, o):
			owned = append(owned, o)
		case ref != nil && ref.UID == parent.GetUID():
			release = append(release, o)
		case ref == nil && t.tagged(parent, o) && o.GetDeletionTimestamp() == nil:
			adopt = append(adopt, o)
		}
	}
	return owned, adopt, release
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
func (k *Kinds) IsParent(ref *metav1.OwnerReference) bool {
	if ref == nil || ref.Kind != k.Parent.Kind {
		return false
	}
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	return err == nil && gv.Group == k.Parent.Group
}
