// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"context"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/observe"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/plan"
)

// confirmedFor is how old a live read may be when a delete that depends on it is
// sent.
const confirmedFor = 5 * time.Second

// Confirmed is what may be deleted. Only a Guard makes one.
type Confirmed struct {
	deletes []plan.Removal
	until   time.Time
}

// Deletes returns the confirmed deletes.
func (c Confirmed) Deletes() []plan.Removal { return c.deletes }

// Left returns for how long the confirmation is still valid.
func (c Confirmed) Left(now time.Time) time.Duration { return c.until.Sub(now) }

// Confirm plans again on what the API server holds now: the parent, compiled
// anew, the inputs of the key, and the outputs that are the plan's evidence. It
// keeps those of the deletes that both plans name. What is deleted needs no read
// of its own, because the delete's preconditions hold it to the observed state.
//
// It returns ErrChanged if the second plan does not bear out the first,
// ErrClockSkew if the clock cannot be trusted, or the error of a read.
func (g *Guard) Confirm(
	ctx context.Context, req plan.Request, parent client.Object, p plan.Plan, deletes []plan.Removal, seen plan.Observation,
) (Confirmed, error) {
	ctx, skew := withSkew(ctx)
	live, at, err := g.liveParent(ctx, req.Parent)
	switch {
	case apierrors.IsNotFound(err):
		return Confirmed{}, ErrChanged
	case err != nil:
		return Confirmed{}, err
	case live.Object.GetUID() != parent.GetUID(),
		live.Object.GetGeneration() != parent.GetGeneration(),
		live.Object.GetDeletionTimestamp() != nil,
		live.Invalid != nil:
		return Confirmed{}, ErrChanged
	}
	inputs, err := g.liveInputs(ctx, req, seen, deletes)
	if err != nil {
		return Confirmed{}, err
	}
	again := seen
	again.Selected, again.Unselected = observe.Partition(live, inputs)
	if again.Outputs, err = g.liveOutputs(ctx, live.Object, seen.Outputs, p.Evidence); err != nil {
		return Confirmed{}, err
	}
	if skew.beyond(g.MaxClockSkew) {
		// The parent was read under a wrong clock, which may be right by the next
		// pass: then the age of the read would mean nothing.
		g.Forget(req.Parent)
		return Confirmed{}, ErrClockSkew
	}

	again.Now = g.Clock.Now()
	second := g.Rules.Build(live, req, again)
	if !g.supports(second, p) {
		return Confirmed{}, ErrChanged
	}
	both := slices.DeleteFunc(slices.Clone(deletes), func(d plan.Removal) bool {
		return !slices.ContainsFunc(second.Delete, func(s plan.Removal) bool { return s.Object.GetUID() == d.Object.GetUID() })
	})
	if len(both) == 0 {
		return Confirmed{}, ErrChanged
	}
	return Confirmed{deletes: both, until: at.Add(confirmedFor)}, nil
}

// supports returns whether a second plan depends only on evidence that was read
// live for the first.
func (g *Guard) supports(second, first plan.Plan) bool {
	return !slices.ContainsFunc(second.Evidence, func(o client.Object) bool { return !g.Rules.Contains(first.Evidence, o) })
}

func (g *Guard) liveParent(ctx context.Context, name types.NamespacedName) (plan.Parent, time.Time, error) {
	return g.parents.get(ctx, g.Clock, name, func(ctx context.Context) (plan.Parent, error) {
		o := g.NewParent()
		if err := g.Live.Get(ctx, name, o); err != nil {
			return plan.Parent{}, err
		}
		return g.Compile(o), nil
	})
}

// Forget drops the shared read of a parent that is gone.
func (g *Guard) Forget(parent types.NamespacedName) { g.parents.forget(parent) }

// liveInputs reads the inputs of a key. If the cache has none, they are looked
// for under the names that the outputs remember, because the cache may lag.
func (g *Guard) liveInputs(
	ctx context.Context, req plan.Request, seen plan.Observation, deletes []plan.Removal,
) ([]client.Object, error) {
	var inputs []client.Object
	for _, cached := range slices.Concat(seen.Selected, seen.Unselected) {
		live, err := g.liveInput(ctx, req, cached, client.ObjectKeyFromObject(cached))
		if err != nil {
			return nil, err
		}
		if live != nil {
			inputs = append(inputs, live)
		}
	}
	if len(seen.Selected)+len(seen.Unselected) > 0 {
		return inputs, nil
	}
	names, all := g.inputNames(deletes)
	if !all {
		return g.searchInputs(ctx, req)
	}
	for _, name := range names {
		for _, kind := range g.Rules.Inputs {
			live, err := g.liveInput(ctx, req, kind.Object, client.ObjectKey{Namespace: req.Parent.Namespace, Name: name})
			if err != nil {
				return nil, err
			}
			if live != nil {
				inputs = append(inputs, live)
			}
		}
	}
	return inputs, nil
}

// inputNames returns the names of the inputs that outputs came from, and whether
// all of them are known.
func (g *Guard) inputNames(deletes []plan.Removal) (names []string, all bool) {
	for _, d := range deletes {
		kind, err := g.Rules.OutputKind(d.Object)
		if err != nil || kind.InputName == nil {
			return nil, false
		}
		name := kind.InputName(d.Object)
		if name == "" {
			return nil, false
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, true
}

// liveInput returns nil if there is no such input, or one with another key.
func (g *Guard) liveInput(
	ctx context.Context, req plan.Request, kind client.Object, name client.ObjectKey,
) (client.Object, error) {
	live := plan.EmptyLike(kind)
	err := g.Live.Get(ctx, name, live)
	if err != nil || g.Observer.MapKey(live) != req.MapKey {
		return nil, client.IgnoreNotFound(err)
	}
	return live, nil
}

// searchInputs looks for a key in all inputs of the parent's namespace.
func (g *Guard) searchInputs(ctx context.Context, req plan.Request) ([]client.Object, error) {
	var inputs []client.Object
	for _, kind := range g.Rules.Inputs {
		var names []client.ObjectKey
		err := EachMetadata(ctx, g.Live, g.Rules.KindOf(kind.Object), func(o client.Object) error {
			if g.Observer.MapKey(o) == req.MapKey {
				names = append(names, client.ObjectKeyFromObject(o))
			}
			return nil
		}, client.InNamespace(req.Parent.Namespace))
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			live, err := g.liveInput(ctx, req, kind.Object, name)
			if err != nil {
				return nil, err
			}
			if live != nil {
				inputs = append(inputs, live)
			}
		}
	}
	return inputs, nil
}

// liveOutputs replaces the evidence among the outputs by what the API server
// holds. What is gone, or no longer the parent's, is left out.
func (g *Guard) liveOutputs(ctx context.Context, parent client.Object, outputs, evidence []client.Object) ([]client.Object, error) {
	result := slices.Clone(outputs)
	for _, e := range evidence {
		i := slices.IndexFunc(result, func(o client.Object) bool { return g.Rules.IDOf(o) == g.Rules.IDOf(e) })
		if i < 0 {
			return nil, ErrChanged
		}
		live := plan.EmptyLike(e)
		err := g.Live.Get(ctx, client.ObjectKeyFromObject(e), live)
		if client.IgnoreNotFound(err) != nil {
			return nil, err
		}
		if err != nil || live.GetUID() != e.GetUID() || !g.Rules.Tags.Owns(parent, live) {
			result = slices.Delete(result, i, i+1)
			continue
		}
		result[i] = live
	}
	return result, nil
}
