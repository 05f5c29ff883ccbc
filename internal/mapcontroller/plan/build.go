// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ErrDiffers says that an output differs from the desired one, and that its kind
// is never updated.
var ErrDiffers = errors.New("the output differs from the desired one and is never updated")

// Build returns the plan for a key. What breaks the rules in a decision is left
// out of the plan and becomes its Err: a Tombstone that creates, a delete of what
// was not observed, an output of an unknown kind, a difference that cannot be
// resolved.
func (r *Rules) Build(parent Parent, req Request, seen Observation) Plan {
	claims := r.Tags.Claim(parent.Object, seen.Outputs)
	p := Plan{Release: claims.Release}
	if parent.Invalid != nil || req.MapKey == "" {
		return p
	}
	p.Adopt = claims.Adopt
	seen.Outputs = claims.Owned
	if len(claims.Adopt) > 0 {
		seen.Outputs = append(slices.Clone(claims.Owned), claims.Adopt...)
		slices.SortFunc(seen.Outputs, Older)
	}

	d := decide(parent.Program, seen)
	p.Evidence, p.Next = d.Evidence, d.Next
	p.Key = KeyStatus{
		Generation: parent.Object.GetGeneration(),
		Counts:     r.counts(seen.Selected, claims.Owned),
		Status:     d.Status,
	}
	var ensured []client.Object
	for _, want := range d.Ensure {
		finished, err := r.ensure(&p, parent.Object, req, seen, want)
		if finished != nil {
			ensured = append(ensured, finished)
		}
		p.Err = errors.Join(p.Err, err)
	}
	for _, removal := range d.Delete {
		p.Err = errors.Join(p.Err, r.remove(&p, seen.Outputs, ensured, removal))
	}
	for _, e := range d.Evidence {
		if r.find(seen.Outputs, e) == nil {
			p.Err = errors.Join(p.Err, fmt.Errorf("%s is evidence, and was not observed", e.GetName()))
			p.Delete = nil
		}
	}
	if len(p.Adopt) > 0 && len(p.Delete) > 0 {
		p.Delete, p.Withheld = nil, true
	}
	return p
}

func decide(program *Program, seen Observation) Decision {
	switch {
	case len(seen.Selected) > 0:
		return program.Map(seen)
	case program.Tombstone != nil:
		return program.Tombstone(seen)
	}
	var d Decision
	for _, o := range seen.Outputs {
		d.Delete = append(d.Delete, Removal{Object: o, Reason: ReasonDetached})
	}
	return d
}

// ensure returns the desired output as it is written.
func (r *Rules) ensure(p *Plan, parent client.Object, req Request, seen Observation, want client.Object) (client.Object, error) {
	kind, err := r.OutputKind(want)
	if err != nil {
		return nil, err
	}
	finished, err := r.finish(parent, req, want)
	if err != nil {
		return nil, err
	}
	have := r.find(seen.Outputs, finished)
	switch {
	case have == nil && len(seen.Selected) == 0:
		return finished, fmt.Errorf("the tombstone of map key %s would create %s", req.MapKey, want.GetName())
	case have == nil:
		p.Create = append(p.Create, finished)
	case have == want || have.GetDeletionTimestamp() != nil:
	case kind.Update != nil:
		changed := have.DeepCopyObject().(client.Object)
		if kind.Update(changed, finished); !equality.Semantic.DeepEqual(have, changed) {
			p.Update = append(p.Update, Update{Observed: have, Changed: changed})
		}
	case kind.Covers != nil && kind.Covers(want, have):
	case kind.Covers != nil || Differs(have, want):
		return finished, fmt.Errorf("%s: %w", want.GetName(), ErrDiffers)
	}
	return finished, nil
}

// Differs returns whether an existing output lacks something of a desired one.
// Fields that the desired one leaves empty are not compared.
func Differs(have, want client.Object) bool {
	want = want.DeepCopyObject().(client.Object)
	want.SetNamespace(have.GetNamespace())
	want.SetOwnerReferences(nil)
	// Empty times and numbers would be compared.
	want.SetCreationTimestamp(have.GetCreationTimestamp())
	want.SetGeneration(have.GetGeneration())
	return !equality.Semantic.DeepDerivative(want, have)
}

// finish returns a desired output as it is written: tagged and owned. It is a
// copy, because what Map returns may share maps and pointers with the cache.
func (r *Rules) finish(parent client.Object, req Request, want client.Object) (client.Object, error) {
	if parent.GetNamespace() != "" && want.GetNamespace() != "" && want.GetNamespace() != parent.GetNamespace() {
		return nil, fmt.Errorf("output %s is in namespace %s, and its parent is not", want.GetName(), want.GetNamespace())
	}
	want = want.DeepCopyObject().(client.Object)
	if parent.GetNamespace() != "" {
		want.SetNamespace(parent.GetNamespace())
	}
	labels := want.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[r.Tags.MapKey] = req.MapKey
	labels[r.Tags.Parent] = parent.GetName()
	want.SetLabels(labels)
	want.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(parent, r.ParentKind)})
	return want, nil
}

// remove takes over a delete. What is already being deleted is not deleted again.
func (r *Rules) remove(p *Plan, observed, ensured []client.Object, removal Removal) error {
	have := r.find(observed, removal.Object)
	switch {
	case have == nil:
		return fmt.Errorf("%s is to be deleted, and was not observed", removal.Object.GetName())
	case len(ensured) > 0 && r.find(ensured, removal.Object) != nil:
		return fmt.Errorf("%s is both desired and to be deleted", removal.Object.GetName())
	case have.GetDeletionTimestamp() == nil:
		p.Delete = append(p.Delete, Removal{Object: have, Reason: removal.Reason})
	}
	return nil
}

func (r *Rules) find(objects []client.Object, wanted client.Object) client.Object {
	id := r.IDOf(wanted)
	for _, o := range objects {
		if o == wanted || (o.GetName() == id.Name && r.IDOf(o) == id) {
			return o
		}
	}
	return nil
}

// Contains returns whether objects contain one with the ID of o.
func (r *Rules) Contains(objects []client.Object, o client.Object) bool {
	return r.find(objects, o) != nil
}

// Older orders objects by creation and name, so that no decision depends on the
// order of a hash.
func Older(a, b client.Object) int {
	if c := a.GetCreationTimestamp().Compare(b.GetCreationTimestamp().Time); c != 0 {
		return c
	}
	if a.GetName() < b.GetName() {
		return -1
	}
	return 1
}
