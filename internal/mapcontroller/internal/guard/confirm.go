// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"context"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/plan"
	"mapcontroller.dev/snapshotschedule/internal/transport"
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
// anew, the inputs of the key, the related objects whose kinds say so, the outputs
// that are the plan's evidence, and the children of these and of what is deleted. It keeps
// those of the deletes that both plans name. What is deleted needs no read of its own,
// because the delete's preconditions hold it to the observed state.
//
// It returns ErrChanged if the second plan differs from the first,
// ErrClockSkew if the clock cannot be trusted, or the error of a read.
func (g *Guard) Confirm(
	ctx context.Context, req plan.Request, parent client.Object, p plan.Plan, deletes []plan.Removal, seen plan.Observation,
) (Confirmed, error) {
	ctx, skew := transport.WithSkew(ctx)
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
	inputs, searched, err := g.liveInputs(ctx, req, live, seen)
	if err != nil {
		return Confirmed{}, err
	}
	if searched.Before(at) {
		at = searched
	}
	again := seen
	if again.Related, at, err = g.liveRelated(ctx, seen.Related, at); err != nil {
		return Confirmed{}, err
	}
	again.Selected, again.Unselected = g.Kinds.Partition(live, req.MapKey, inputs)
	evidence, err := g.liveEvidence(ctx, live.Object, p.Evidence)
	if err != nil {
		return Confirmed{}, err
	}
	again.Outputs, again.Elsewhere = g.replace(seen.Outputs, p.Evidence, evidence), g.replace(seen.Elsewhere, p.Evidence, evidence)
	if again.Children, err = g.liveChildren(ctx, seen, p.Evidence, deletes); err != nil {
		return Confirmed{}, err
	}
	if skew.Beyond(g.MaxClockSkew) {
		// What is shared was read under a wrong clock, which may be right by the next
		// pass: then the age of the reads would mean nothing.
		g.parents.reset()
		g.inputs.reset()
		g.related.reset()
		return Confirmed{}, ErrClockSkew
	}

	again.Now, again.Ahead, again.Confirms = g.Clock.Now(), skew.Ahead(), true
	second := g.Kinds.Build(live, req, again)
	if !g.supports(second, p) {
		return Confirmed{}, ErrChanged
	}
	both := slices.DeleteFunc(slices.Clone(deletes), func(d plan.Removal) bool {
		return !slices.ContainsFunc(second.Delete, func(s plan.Removal) bool { return s.Object.GetUID() == d.Object.GetUID() })
	})
	if both, err = g.deletable(ctx, both); err != nil {
		return Confirmed{}, err
	}
	if len(both) == 0 {
		return Confirmed{}, ErrChanged
	}
	return Confirmed{deletes: both, until: at.Add(confirmedFor)}, nil
}

// supports returns whether a second plan depends only on evidence that was read
// live for the first.
func (g *Guard) supports(second, first plan.Plan) bool {
	return !slices.ContainsFunc(second.Evidence, func(o client.Object) bool { return g.Kinds.Find(first.Evidence, o) == nil })
}

// deletable keeps those of the deletes that their kinds do not object to.
func (g *Guard) deletable(ctx context.Context, deletes []plan.Removal) (kept []plan.Removal, err error) {
	for _, d := range deletes {
		ok, may := true, g.Kinds.Output(d.Object).Deletable
		if may != nil {
			if ok, err = may(ctx, g.Live, d.Object); err != nil {
				return nil, err
			}
		}
		if ok {
			kept = append(kept, d)
		}
	}
	return kept, nil
}

func (g *Guard) liveParent(ctx context.Context, name types.NamespacedName) (plan.Parent, time.Time, error) {
	o, at, err := g.parents.get(ctx, g.Clock, name, func(ctx context.Context) (client.Object, error) {
		o := g.NewParent()
		return o, g.Live.Get(ctx, name, o)
	})
	if err != nil {
		return plan.Parent{}, at, err
	}
	return g.compiled(ctx, o, at)
}

// compiled compiles a live parent with what the API server has of its governors. It returns when the first
// of their reads and an earlier one began.
func (g *Guard) compiled(ctx context.Context, parent client.Object, first time.Time) (plan.Parent, time.Time, error) {
	var governors []client.Object
	if g.Governors != nil {
		var err error
		if governors, first, err = g.liveRelated(ctx, g.Governors(parent), first); err != nil {
			return plan.Parent{}, first, err
		}
	}
	return g.Compile(parent, governors), first, nil
}

// liveInputs reads the inputs of a key, and those from which its outputs were made. Of which
// the cache has none, which may be late, is looked for in all inputs of the namespace. It
// returns when it began.
func (g *Guard) liveInputs(
	ctx context.Context, req plan.Request, parent plan.Parent, seen plan.Observation,
) ([]client.Object, time.Time, error) {
	candidates, at := slices.Concat(seen.Selected, seen.Unselected), g.Clock.Now()
	sources := g.Kinds.Sources(seen.Outputs)
	unseen := slices.DeleteFunc(slices.Clone(sources), func(source string) bool {
		return slices.ContainsFunc(candidates, func(o client.Object) bool { return g.Kinds.MapKey(o) == source })
	})
	if len(candidates) == 0 {
		unseen = append(unseen, req.MapKey)
	}
	if len(unseen) > 0 {
		found, searched, err := g.inputs.get(ctx, g.Clock, req.Parent.Namespace, func(ctx context.Context) (map[string][]client.Object, error) {
			return g.searchInputs(ctx, req.Parent.Namespace)
		})
		if err != nil {
			return nil, at, err
		}
		at = searched
		for _, source := range unseen {
			candidates = append(candidates, found[source]...)
		}
	}
	read := make([]client.Object, len(candidates))
	err := g.inParallel(ctx, len(candidates), func(ctx context.Context, i int) error {
		live := plan.EmptyLike(g.Kinds.Input(candidates[i]).Object)
		err := g.Live.Get(ctx, client.ObjectKeyFromObject(candidates[i]), live)
		if err == nil {
			read[i] = live
		}
		return client.IgnoreNotFound(err)
	})
	var inputs []client.Object
	for _, live := range read {
		if live == nil {
			continue
		}
		if own := g.Kinds.MapKey(live); own == req.MapKey || slices.Contains(sources, own) || g.Kinds.Key(parent, live) == req.MapKey {
			inputs = append(inputs, live)
		}
	}
	return inputs, at, err
}

// inParallel does something for each of n, so that the last read is not too old when all are made.
func (g *Guard) inParallel(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	reads, ctx := errgroup.WithContext(ctx)
	reads.SetLimit(max(1, g.Concurrency))
	for i := range n {
		reads.Go(func() error { return do(ctx, i) })
	}
	return reads.Wait()
}

// searchInputs returns the names of all inputs of a namespace, by map key. A page
// of metadata is all that is held of the objects themselves.
func (g *Guard) searchInputs(ctx context.Context, namespace string) (map[string][]client.Object, error) {
	found := map[string][]client.Object{}
	for _, kind := range g.Kinds.Inputs {
		gvk := g.Kinds.Of(kind.Object)
		err := EachMetadata(ctx, g.Live, gvk, func(o client.Object) {
			name := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: o.GetNamespace(), Name: o.GetName()}}
			name.SetGroupVersionKind(gvk)
			key := g.Kinds.MapKey(o)
			found[key] = append(found[key], name)
		}, client.InNamespace(namespace))
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// liveRelated replaces the related objects of live kinds by what the API server holds,
// and leaves out those that are gone. It returns when the first of these reads and
// earlier ones began.
func (g *Guard) liveRelated(ctx context.Context, related []client.Object, first time.Time) ([]client.Object, time.Time, error) {
	var live []client.Object
	for _, o := range related {
		if g.Kinds.IsLive(o) {
			read, began, err := g.related.get(ctx, g.Clock, g.Kinds.ID(o), func(ctx context.Context) (client.Object, error) {
				read := plan.EmptyLike(o)
				if err := g.Live.Get(ctx, client.ObjectKeyFromObject(o), read); err != nil {
					return nil, client.IgnoreNotFound(err)
				}
				return read, nil
			})
			if err != nil {
				return nil, first, err
			}
			if o = read; began.Before(first) {
				first = began
			}
		}
		if o != nil {
			live = append(live, o)
		}
	}
	return live, first, nil
}

// liveEvidence returns what the API server holds of the evidence, nil for what is gone, no longer the parent's, or of
// another key than before.
func (g *Guard) liveEvidence(ctx context.Context, parent client.Object, evidence []client.Object) ([]client.Object, error) {
	live, owns := make([]client.Object, len(evidence)), &g.Kinds.Ownership
	err := g.inParallel(ctx, len(evidence), func(ctx context.Context, i int) error {
		e := evidence[i]
		o := plan.EmptyLike(e)
		err := g.Live.Get(ctx, client.ObjectKeyFromObject(e), o)
		ours := owns.Owns(parent, o) && owns.MapKey(o) == owns.MapKey(e)
		if err == nil && o.GetUID() == e.GetUID() && ours {
			live[i] = o
		}
		return client.IgnoreNotFound(err)
	})
	return live, err
}

// replace replaces the evidence among outputs by what was read live.
func (g *Guard) replace(outputs, evidence, live []client.Object) (result []client.Object) {
	for _, o := range outputs {
		i := slices.IndexFunc(evidence, func(e client.Object) bool { return g.Kinds.ID(e) == g.Kinds.ID(o) })
		if i >= 0 {
			o = live[i]
		}
		if o != nil {
			result = append(result, o)
		}
	}
	return result
}

// liveChildren replaces the children of the evidence and of what is to be deleted by what
// the API server holds.
func (g *Guard) liveChildren(
	ctx context.Context, seen plan.Observation, evidence []client.Object, deletes []plan.Removal,
) ([]client.Object, error) {
	of := slices.Clone(evidence)
	for _, d := range deletes {
		of = append(of, d.Object)
	}
	of = slices.DeleteFunc(of, func(o client.Object) bool { return g.Kinds.Output(o).Children == nil })
	live := make([][]client.Object, len(of))
	err := g.inParallel(ctx, len(of), func(ctx context.Context, i int) (err error) {
		live[i], err = g.Kinds.Output(of[i]).Children.Live(ctx, g.Live, of[i])
		return err
	})
	children := slices.Clone(seen.Children)
	for i, o := range of {
		is := g.Kinds.Output(o).Children.Is
		children = slices.DeleteFunc(children, func(child client.Object) bool { return is(o, child) })
		for _, child := range live[i] {
			if is(o, child) {
				children = append(children, child)
			}
		}
	}
	return children, err
}
