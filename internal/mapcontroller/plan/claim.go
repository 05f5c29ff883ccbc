// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"

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
//
// A parent that owns by labels owns what carries its tags and has no other controller,
// and releases whatever refers to it.
func (k *Kinds) Claim(parent client.Object, outputs []client.Object) (owned, adopt, release []client.Object) {
	owned = make([]client.Object, 0, len(outputs))
	byLabels := k.OwnsByLabels(parent)
	for _, o := range outputs {
		controller, tagged := ControllerUID(o), k.Tags.tagged(parent, o)
		controlled := controller == parent.GetUID()
		switch {
		case controller != "" && !controlled:
			continue
		case tagged && (controlled || byLabels):
			owned = append(owned, o)
		case tagged && o.GetDeletionTimestamp() == nil:
			adopt = append(adopt, o)
		}
		if controlled && !tagged || byLabels && Refers(o, parent) {
			release = append(release, o)
		}
	}
	return owned, adopt, release
}

// Owns returns whether an output is the parent's own.
func (k *Kinds) Owns(parent, output client.Object) bool {
	controller := ControllerUID(output)
	return k.Tags.tagged(parent, output) &&
		(controller == parent.GetUID() || controller == "" && k.OwnsByLabels(parent))
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

// Refers returns whether an output has an owner reference to a parent. It need not be
// the one of the controller: the garbage collector does not ask.
func Refers(output, parent client.Object) bool {
	return slices.ContainsFunc(output.GetOwnerReferences(), func(ref metav1.OwnerReference) bool { return ref.UID == parent.GetUID() })
}

// IsParent returns whether an owner reference names a parent, of any version: a
// parent keeps its outputs when its API moves on.
func (k *Kinds) IsParent(ref *metav1.OwnerReference) bool {
	if ref == nil || ref.Kind != k.Parent.Kind {
		return false
	}
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	return err == nil && gv.Group == k.Parent.Group
}
