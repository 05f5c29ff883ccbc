// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Build returns the plan for a key. What breaks the rules in a decision is left
// out of the plan and becomes its Err: a Tombstone that creates, a delete of what
// was not observed, an output of an unknown kind, a difference that cannot be
// resolved. A decision that panics is a PanicError, and an empty plan.
func (k *Kinds) Build(parent Parent, req Request, seen Observation) Plan {
	owned, adopt, release := k.Ownership.Claim(parent.Object, seen.Outputs)
	p := Plan{Release: release, Key: KeyStatus{Generation: parent.Object.GetGeneration()}}
	p.Referred = len(release) > 0 && k.Ownership.ByLabels(parent.Object)
	leaving := slices.DeleteFunc(slices.Clone(release), func(o client.Object) bool { return slices.Contains(owned, o) })
	if p.counted = leaving; req.IsSearch() {
		return p
	}
	if p.counted = append(slices.Clip(owned), leaving...); parent.Invalid != nil {
		return p
	}
	p.Adopt, seen.Outputs = slices.DeleteFunc(adopt, func(o client.Object) bool {
		may := k.Output(o).Adoptable
		return may != nil && !may(parent.Object, o)
	}), owned
	if len(p.Adopt) > 0 {
		seen.Outputs = slices.Concat(owned, p.Adopt)
		slices.SortFunc(seen.Outputs, Older)
	}

	d, err := decide(parent.Program, seen)
	p.fail(err)
	p.Evidence, p.Next, p.Places = d.Evidence, d.Next, d.Places
	// What is about to be adopted counts, and what is not released yet: it is deleted with the parent.
	p.selected, p.counted = seen.Selected, append(slices.Clip(seen.Outputs), leaving...)
	p.detached, p.Key.Status = len(seen.Selected) == 0, d.Status
	var ensured []client.Object
	for _, want := range d.Ensure {
		finished, err := k.finish(parent.Object, req, want.Object)
		if err == nil {
			want.Object = finished
			err = k.ensure(&p, parent.Object, seen, want)
			ensured = append(ensured, finished)
		}
		p.fail(err)
	}
	k.remove(&p, d, seen, ensured)
	return p
}

// remove plans the deletes. None is made in a plan that adopts, or whose evidence was
// not observed, and none of an output that has not settled.
func (k *Kinds) remove(p *Plan, d Decision, seen Observation, ensured []client.Object) {
	outputs := seen.Outputs
	for _, removal := range d.Delete {
		switch have := k.Find(outputs, removal.Object); {
		case have == nil:
			p.fail(fmt.Errorf("%s is to be deleted, and was not observed", removal.Object.GetName()))
		case k.Find(ensured, have) != nil:
			p.fail(fmt.Errorf("%s is both desired and to be deleted", have.GetName()))
		case k.Find(p.Release, have) != nil:
			p.Withheld = true // its release gives it another version
		case k.settles(have).After(seen.Now.Add(-seen.Ahead)):
			p.Withheld = true
			if at := k.settles(have); p.Next.IsZero() || at.Before(p.Next) {
				p.Next = at
			}
		case have.GetDeletionTimestamp() == nil:
			removal.Object = have
			p.Delete = append(p.Delete, removal)
		}
	}
	for _, e := range d.Evidence {
		if k.Find(outputs, e) == nil && k.Find(seen.Elsewhere, e) == nil {
			p.fail(fmt.Errorf("%s is evidence, and was not observed", e.GetName()))
			p.Delete = nil
		}
	}
	if len(p.Adopt) > 0 && len(p.Delete) > 0 {
		p.Delete, p.Withheld = nil, true
	}
}

// settles returns when an output has settled.
func (k *Kinds) settles(o client.Object) time.Time {
	return o.GetCreationTimestamp().Add(k.Output(o).Settles)
}

func (p *Plan) fail(err error) { p.Err = errors.Join(p.Err, err) }

// decide makes the decision about a key. One that panics is an error of its key, which is decided nevertheless:
// the status of the parent, and its other keys, do not wait for it.
func decide(program *Program, seen Observation) (d Decision, err error) {
	defer func() {
		if value := recover(); value != nil {
			d, err = Decision{}, NewPanicError(value)
		}
	}()
	switch {
	case len(seen.Selected) > 0:
		return program.Map(seen), nil
	case program.Tombstone != nil:
		return program.Tombstone(seen), nil
	}
	for _, o := range seen.Outputs {
		d.Delete = append(d.Delete, Removal{Object: o, Reason: ReasonDetached})
	}
	return d, nil
}

// ensure plans what makes the outputs contain a desired one.
func (k *Kinds) ensure(p *Plan, parent client.Object, seen Observation, desired Desired) error {
	want := desired.Object
	kind, have := k.Output(want), k.Find(seen.Outputs, want)
	switch {
	case have == nil:
		return k.create(p, parent, seen, desired)
	case have.GetDeletionTimestamp() != nil && (kind.Update != nil || kind.Meets(want, have) == nil): // until it is gone
	case kind.Update != nil && k.Find(p.Adopt, have) != nil: // it is not the parent's yet
	case kind.Update != nil:
		changed := have.DeepCopyObject().(client.Object)
		if kind.Update(changed, want); !equality.Semantic.DeepEqual(have, changed) {
			p.Update = append(p.Update, Update{Observed: have, Changed: changed, Desired: want})
		}
	default:
		if err := kind.Meets(want, have); err != nil {
			p.Collisions = append(p.Collisions, Collision{Desired: want, Err: err})
		}
	}
	return nil
}

// create plans a create. That of an output that has to settle waits for the parent's finalizer:
// its event follows.
func (k *Kinds) create(p *Plan, parent client.Object, seen Observation, desired Desired) error {
	if len(seen.Selected) == 0 {
		return fmt.Errorf("the tombstone of map key %s would create %s", seen.MapKey, desired.Object.GetName())
	}
	if errs := validation.IsValidLabelValue(seen.MapKey); len(errs) > 0 {
		return fmt.Errorf("map key %q cannot be the label of an output: %s", seen.MapKey, errs[0])
	}
	settles := k.Output(desired.Object).Settles > 0 && !k.Ownership.ByLabels(parent)
	if !settles || slices.Contains(parent.GetFinalizers(), k.Finalizer) {
		p.Create = append(p.Create, desired)
	}
	return nil
}

// Meets returns a CollisionError if an existing output of the parent does not do the
// work of a desired one.
func (out *Output) Meets(want, have client.Object) error {
	if out.Covers != nil && out.Covers(want, have) || out.Covers == nil && !differs(have, want) {
		return nil
	}
	return &CollisionError{Existing: have, Owned: true}
}

// differs returns whether an existing output lacks something of a desired one.
// Fields that the desired one leaves empty are not compared.
func differs(have, want client.Object) bool {
	want = want.DeepCopyObject().(client.Object)
	want.SetNamespace(have.GetNamespace())
	want.SetOwnerReferences(nil)
	// Empty times and numbers would be compared.
	want.SetCreationTimestamp(have.GetCreationTimestamp())
	want.SetGeneration(have.GetGeneration())
	return !equality.Semantic.DeepDerivative(want, have)
}

// finish returns a desired output as it is written: tagged, and owned unless the
// parent owns by labels. It is a copy, because what Map returns may share maps and
// pointers with the cache.
func (k *Kinds) finish(parent client.Object, req Request, want client.Object) (client.Object, error) {
	if k.Output(want) == nil {
		return nil, fmt.Errorf("%T %s is of no output kind", want, want.GetName())
	}
	if parent.GetNamespace() != "" && want.GetNamespace() != "" && want.GetNamespace() != parent.GetNamespace() {
		return nil, fmt.Errorf("output %s is in namespace %s, and its parent is not", want.GetName(), want.GetNamespace())
	}
	want = want.DeepCopyObject().(client.Object)
	if parent.GetNamespace() != "" {
		want.SetNamespace(parent.GetNamespace())
	}
	labels := map[string]string{}
	maps.Copy(labels, want.GetLabels())
	labels[k.Ownership.Tags.MapKey], labels[k.Ownership.Tags.Parent] = req.MapKey, parent.GetName()
	want.SetLabels(labels)
	want.SetOwnerReferences(nil)
	if !k.Ownership.ByLabels(parent) {
		want.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(parent, k.Ownership.Parent)})
	}
	return want, nil
}

// Older orders objects by creation and name, so that no decision depends on the
// order of a hash.
func Older(a, b client.Object) int {
	if c := a.GetCreationTimestamp().Compare(b.GetCreationTimestamp().Time); c != 0 {
		return c
	}
	return strings.Compare(a.GetName(), b.GetName())
}
