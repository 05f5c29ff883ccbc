// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package mapcontroller

import (
	"context"
	"errors"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// errMoved says that the API server holds something else than the cache that a
// decision was made on. The key is looked at again.
var errMoved = errors.New("what the decision rests on has changed")

// confirm takes the decision to delete once more, on what the API server holds
// now: the parent, the input, and the outputs that the decision rests on. What
// is to be deleted needs no read: the preconditions of the delete hold it to
// the state that was decided on.
//
// It returns until when all of it may be deleted, errMoved if the second decision
// differs, ErrClockSkew if the clock that it was made by cannot be trusted, or
// the error of a read.
func (c *controller[P, S]) confirm(
	ctx context.Context, req Request, parent P, o observation, d Result[S], doomed []client.Object,
) (until time.Time, err error) {
	ctx, skew := withSkew(ctx)

	fresh, at, err := c.fresh.get(ctx, req.Parent)
	switch {
	case apierrors.IsNotFound(err):
		return until, errMoved
	case err != nil:
		return until, err
	case fresh.GetUID() != parent.GetUID(),
		fresh.GetGeneration() != parent.GetGeneration(),
		fresh.GetDeletionTimestamp() != nil:
		return until, errMoved
	}

	again := o
	if again.input, err = c.liveInput(ctx, req, o.input, doomed); err != nil {
		return until, err
	}
	if again.owned, err = c.liveOutputs(ctx, fresh, o.owned, d.Evidence); err != nil {
		return until, err
	}
	if skew.beyond(c.MaxClockSkew) {
		return until, ErrClockSkew
	}

	second := c.decide(c.Clock.Now(), fresh, req.MapKey, again)
	if !subset(second.Evidence, d.Evidence) {
		// It rests on outputs that were not read live.
		return until, errMoved
	}
	// By name: a Map that makes its outputs anew means the observed one.
	desired := byID(second.Outputs)
	for _, o := range doomed {
		if desired[idOf(o)] != nil {
			return until, errMoved
		}
	}
	return at.Add(confirmedFor), nil
}

func subset(some, all []client.Object) bool {
	have := byID(all)
	return !slices.ContainsFunc(some, func(o client.Object) bool { return have[idOf(o)] == nil })
}

// liveInput reads the input of a map key. If the cache does not have it, it is
// looked for under the name that its outputs remember, for the cache may be
// late.
func (c *controller[P, S]) liveInput(
	ctx context.Context, req Request, cached client.Object, outputs []client.Object,
) (client.Object, error) {
	if cached != nil {
		return c.liveNamed(ctx, req, cached, cached.GetName())
	}
	names := map[string]bool{}
	for _, o := range outputs {
		name := ""
		if kind := c.outputKind(o); kind.InputName != nil {
			name = kind.InputName(o)
		}
		names[name] = true
	}
	if names[""] {
		return c.searchInput(ctx, req)
	}
	for name := range names {
		for _, in := range c.Inputs {
			if found, err := c.liveNamed(ctx, req, in.Object, name); found != nil || err != nil {
				return found, err
			}
		}
	}
	return nil, nil
}

// liveNamed returns nil if the name is free, or another input's by now.
func (c *controller[P, S]) liveNamed(ctx context.Context, req Request, kind client.Object, name string) (client.Object, error) {
	live := emptyLike(kind)
	err := c.live.Get(ctx, client.ObjectKey{Namespace: req.Parent.Namespace, Name: name}, live)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, err
	case c.MapKey(live) != req.MapKey:
		return nil, nil
	}
	return live, nil
}

func (c *controller[P, S]) searchInput(ctx context.Context, req Request) (client.Object, error) {
	for _, in := range c.Inputs {
		all, err := list(ctx, c.live, c.scheme, in.Object, client.InNamespace(req.Parent.Namespace))
		if err != nil {
			return nil, err
		}
		for _, o := range all {
			if c.MapKey(o) == req.MapKey {
				return o, nil
			}
		}
	}
	return nil, nil
}

func list(
	ctx context.Context, r client.Reader, scheme *runtime.Scheme, kind client.Object, opts ...client.ListOption,
) ([]client.Object, error) {
	gvk, err := apiutil.GVKForObject(kind, scheme)
	if err != nil {
		return nil, err
	}
	gvk.Kind += "List"
	into, err := scheme.New(gvk)
	if err != nil {
		return nil, err
	}
	l := into.(client.ObjectList)
	if err := r.List(ctx, l, opts...); err != nil {
		return nil, err
	}
	objects := make([]client.Object, 0, meta.LenList(l))
	err = meta.EachListItem(l, func(o runtime.Object) error {
		objects = append(objects, o.(client.Object))
		return nil
	})
	return objects, err
}

// liveOutputs replaces the evidence among the owned outputs by what the API
// server holds. What is gone, or no longer the parent's, is left out.
func (c *controller[P, S]) liveOutputs(ctx context.Context, parent P, owned, evidence []client.Object) ([]client.Object, error) {
	result := slices.Clone(owned)
	for _, e := range evidence {
		i := slices.Index(result, e)
		if i < 0 {
			continue
		}
		live := emptyLike(e)
		err := c.live.Get(ctx, client.ObjectKeyFromObject(e), live)
		if client.IgnoreNotFound(err) != nil {
			return nil, err
		}
		if err != nil || live.GetUID() != e.GetUID() || len(c.Tags.claim(parent, []client.Object{live}).owned) == 0 {
			result = slices.Delete(result, i, i+1)
			continue
		}
		result[i] = live
	}
	return result, nil
}
