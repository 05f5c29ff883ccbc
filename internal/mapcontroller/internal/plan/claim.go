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

// Ownership decides which outputs are a parent's, and nothing else does.
type Ownership struct {
	Tags Tags
	// Parent is the kind of the parents, for controllerRefs.
	Parent schema.GroupVersionKind
	// OwnsByLabels returns whether the outputs of a parent carry no reference to it. Nil:
	// no parent does.
	OwnsByLabels func(parent client.Object) bool
	// Foreign returns whether an object is no parent's, whatever its labels and its
	// controller: something else made it and manages it. Of some objects only the metadata
	// is known. Nil: none is.
	Foreign func(output client.Object) bool
	// Recorded returns what an output's status says of the parent that owns it, or owned it. Nil:
	// no status says anything.
	Recorded func(output client.Object) Record
}

// Record is what an output's status says of its parent. Who may edit the output cannot write it. It takes
// the place of tags, and of an owner that is missing.
type Record struct {
	// UID and Name are the parent's. Without a UID, nothing is recorded.
	UID  types.UID
	Name string
	// MapKey is the output's.
	MapKey string
}

// Record returns the record of an output, unless something else than the recorded parent controls it.
func (w *Ownership) Record(o client.Object) Record {
	if w.Recorded == nil {
		return Record{}
	}
	record := w.Recorded(o)
	if controller := ControllerUID(o); record.UID == "" || controller != "" && controller != record.UID {
		return Record{}
	}
	return record
}

// MapKey returns the map key of an output.
func (w *Ownership) MapKey(o client.Object) string {
	if record := w.Record(o); record.UID != "" {
		return record.MapKey
	}
	return o.GetLabels()[w.Tags.MapKey]
}

// Relation is what an output is to a parent.
type Relation struct {
	// Owned is set if it is the parent's: only then it is counted, and may be deleted.
	Owned bool
	// Orphan is set if nothing controls it and it carries the parent's tags. The parent
	// adopts it, unless it is being deleted.
	Orphan bool
	// Release is set if it has a reference to the parent that must be removed.
	Release bool
}

// Relation follows the laws of the ControllerRef proposal. What the parent controls and
// carries its tags is owned; what it controls, but whose tags name another parent or no
// map key, is to be released. What something else controls is neither touched nor
// counted. What is foreign is never more than released.
//
// What a record names as the parent's carries its tags, whatever its labels say.
//
// A parent that owns by labels owns what carries its tags and has no other controller,
// and releases whatever refers to it.
func (w *Ownership) Relation(parent, o client.Object) (r Relation) {
	ref, byLabels := metav1.GetControllerOfNoCopy(o), w.ByLabels(parent)
	controlled := ref != nil && ref.UID == parent.GetUID()
	if ref != nil && !controlled {
		return r
	}
	record := w.Record(o).UID
	tagged := (record != "" && record == parent.GetUID() || w.Tags.tagged(parent, o)) && !w.IsForeign(o)
	r.Owned = tagged && (controlled || byLabels)
	r.Orphan = tagged && !r.Owned
	r.Release = controlled && !tagged || byLabels && Refers(o, parent)
	return r
}

// IsForeign returns whether an object is foreign.
func (w *Ownership) IsForeign(o client.Object) bool { return w.Foreign != nil && w.Foreign(o) }

// Ownerless returns whether an object is nobody's: nothing controls it, and it is not
// foreign.
func (w *Ownership) Ownerless(o client.Object) bool {
	return metav1.GetControllerOfNoCopy(o) == nil && !w.IsForeign(o)
}

// ByLabels returns whether a parent owns by labels.
func (w *Ownership) ByLabels(parent client.Object) bool {
	return w.OwnsByLabels != nil && w.OwnsByLabels(parent)
}

// Owns returns whether an output is the parent's own.
func (w *Ownership) Owns(parent, output client.Object) bool { return w.Relation(parent, output).Owned }

// Claim sorts outputs by what they are to a parent.
func (w *Ownership) Claim(parent client.Object, outputs []client.Object) (owned, adopt, release []client.Object) {
	owned = make([]client.Object, 0, len(outputs))
	for _, o := range outputs {
		r := w.Relation(parent, o)
		if r.Owned {
			owned = append(owned, o)
		}
		if r.Orphan && o.GetDeletionTimestamp() == nil {
			adopt = append(adopt, o)
		}
		if r.Release {
			release = append(release, o)
		}
	}
	return owned, adopt, release
}

// Partition separates the inputs that the parent's program selects for a map key from the
// others. The parent's own outputs, and those that it may adopt, are not selected: otherwise
// a selector that matches them would map them without end.
func (k *Kinds) Partition(parent Parent, mapKey string, inputs []client.Object) (selected, unselected []client.Object) {
	own := func(input client.Object) bool {
		if k.Output(input) == nil {
			return metav1.IsControlledBy(input, parent.Object)
		}
		r := k.Ownership.Relation(parent.Object, input)
		return r.Owned || r.Orphan || metav1.IsControlledBy(input, parent.Object)
	}
	for _, input := range inputs {
		if parent.Invalid == nil && parent.Program.Selects(input) && k.Key(parent, input) == mapKey && !own(input) {
			selected = append(selected, input)
		} else {
			unselected = append(unselected, input)
		}
	}
	return selected, unselected
}

func (t Tags) tagged(parent, output client.Object) bool {
	labels := output.GetLabels()
	return labels[t.Parent] == parent.GetName() && labels[t.MapKey] != NoMapKey
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

// CollectedWith returns whether the garbage collector deletes an output with its parent:
// it has no other owner. Otherwise it only loses the reference.
func CollectedWith(output, parent client.Object) bool {
	return Refers(output, parent) &&
		!slices.ContainsFunc(output.GetOwnerReferences(), func(ref metav1.OwnerReference) bool { return ref.UID != parent.GetUID() })
}

// IsParent returns whether an owner reference names a parent, of any version: a
// parent keeps its outputs when its API moves on.
func (w *Ownership) IsParent(ref *metav1.OwnerReference) bool {
	if ref == nil || ref.Kind != w.Parent.Kind {
		return false
	}
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	return err == nil && gv.Group == w.Parent.Group
}
