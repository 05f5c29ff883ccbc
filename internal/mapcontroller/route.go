// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package mapcontroller

import (
	"context"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
)

type queue = workqueue.TypedRateLimitingInterface[Request]

// fanOutPriority lets the event of one object pass the many keys of a parent
// that changed.
const fanOutPriority = -10

// router turns the events of all kinds into requests.
type router[P client.Object, S any] struct {
	*controller[P, S]
	parentKind schema.GroupVersionKind
}

// inputs wakes the keys of the parents that select an input, selected it before
// the change, or still hold outputs of it.
func (r *router[P, S]) inputs(in Input) handler.TypedEventHandler[client.Object, Request] {
	return handler.TypedFuncs[client.Object, Request]{
		CreateFunc: func(ctx context.Context, e event.TypedCreateEvent[client.Object], q queue) {
			r.routeInput(ctx, q, e.Object)
		},
		UpdateFunc: func(ctx context.Context, e event.TypedUpdateEvent[client.Object], q queue) {
			if in.changed(e.ObjectOld, e.ObjectNew) {
				r.routeInput(ctx, q, e.ObjectOld, e.ObjectNew)
			}
		},
		DeleteFunc: func(ctx context.Context, e event.TypedDeleteEvent[client.Object], q queue) {
			r.routeInput(ctx, q, e.Object)
		},
	}
}

func (in Input) changed(before, after client.Object) bool {
	return in.Changed == nil || in.Changed(before, after) ||
		before.GetUID() != after.GetUID() ||
		!before.GetDeletionTimestamp().Equal(after.GetDeletionTimestamp()) ||
		!maps.Equal(before.GetLabels(), after.GetLabels()) ||
		controllerUID(before) != controllerUID(after)
}

func controllerUID(o client.Object) types.UID {
	if ref := metav1.GetControllerOfNoCopy(o); ref != nil {
		return ref.UID
	}
	return ""
}

func (r *router[P, S]) routeInput(ctx context.Context, q queue, versions ...client.Object) {
	parents, err := r.cache.parents(r.NewParent(), versions[0].GetNamespace())
	if err != nil {
		logf.FromContext(ctx).Error(err, "listing the parents of an input")
		return
	}
	for _, o := range parents {
		selector, err := r.Select(o.(P))
		if err != nil {
			continue
		}
		for _, v := range versions {
			req := Request{Parent: client.ObjectKeyFromObject(o), MapKey: r.MapKey(v)}
			if selector.Matches(labels.Set(v.GetLabels())) || r.ledger.knows(req) {
				q.Add(req)
			}
		}
	}
}

// outputs wakes the key that an output belongs to: of the parent that controls
// it, or of the one that it names if nobody does. As the ControllerRef proposal
// has it, nobody cares when an orphan disappears.
func (r *router[P, S]) outputs(out Output) handler.TypedEventHandler[client.Object, Request] {
	return handler.TypedFuncs[client.Object, Request]{
		CreateFunc: func(_ context.Context, e event.TypedCreateEvent[client.Object], q queue) {
			r.routeOutput(q, e.Object, false)
		},
		UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[client.Object], q queue) {
			before, owned := r.owner(e.ObjectOld)
			after, ownedNow := r.owner(e.ObjectNew)
			if owned && before != after {
				q.Add(before)
			}
			if ownedNow && out.Updated != nil {
				out.Updated(after.Parent, e.ObjectOld, e.ObjectNew)
			}
			r.routeOutput(q, e.ObjectNew, false)
		},
		DeleteFunc: func(_ context.Context, e event.TypedDeleteEvent[client.Object], q queue) {
			r.routeOutput(q, e.Object, true)
		},
	}
}

func (r *router[P, S]) routeOutput(q queue, o client.Object, deleted bool) {
	req, owned := r.owner(o)
	if req.Parent.Name == "" || (deleted && !owned) {
		return
	}
	id := idOf(o)
	r.expectations.met(req, expectation{id: id})
	if deleted || o.GetDeletionTimestamp() != nil {
		r.expectations.met(req, expectation{id: id, gone: true})
	}
	q.Add(req)
}

// owner returns the key that an output belongs to and whether the parent
// controls it. What another kind controls belongs to none.
func (r *router[P, S]) owner(o client.Object) (req Request, owned bool) {
	name := o.GetLabels()[r.Tags.Parent]
	if ref := metav1.GetControllerOfNoCopy(o); ref != nil {
		if !isOwnerKind(ref, r.parentKind) {
			return Request{}, false
		}
		name, owned = ref.Name, true
	}
	return Request{
		Parent: types.NamespacedName{Namespace: o.GetNamespace(), Name: name},
		MapKey: o.GetLabels()[r.Tags.MapKey],
	}, owned
}

// parents wakes all keys of a parent, but not for its status: that is written
// after every change of a key.
func (r *router[P, S]) parents() handler.TypedEventHandler[client.Object, Request] {
	return handler.TypedFuncs[client.Object, Request]{
		CreateFunc: func(ctx context.Context, e event.TypedCreateEvent[client.Object], q queue) {
			r.fanOut(ctx, q, e.Object.(P))
		},
		UpdateFunc: func(ctx context.Context, e event.TypedUpdateEvent[client.Object], q queue) {
			if r.parentChanged(e.ObjectOld.(P), e.ObjectNew.(P)) {
				r.fanOut(ctx, q, e.ObjectNew.(P))
			}
		},
		DeleteFunc: func(_ context.Context, e event.TypedDeleteEvent[client.Object], _ queue) {
			name := client.ObjectKeyFromObject(e.Object)
			r.ledger.forget(name)
			r.fresh.forget(name)
			r.gone(name)
		},
	}
}

func (c *MapController[P, S]) gone(parent types.NamespacedName) {
	if c.Gone != nil {
		c.Gone(parent)
	}
}

func (c *MapController[P, S]) parentChanged(before, after P) bool {
	return before.GetUID() != after.GetUID() ||
		before.GetGeneration() != after.GetGeneration() ||
		!before.GetDeletionTimestamp().Equal(after.GetDeletionTimestamp()) ||
		(c.ParentChanged != nil && c.ParentChanged(before, after))
}

// fanOut wakes the keys of the selected inputs and those found on the outputs,
// else a tombstone would never be looked at.
func (r *router[P, S]) fanOut(ctx context.Context, q queue, parent P) {
	keys, err := r.keysOf(parent)
	if err != nil {
		logf.FromContext(ctx).Error(err, "listing the keys of a parent")
		return
	}
	name := client.ObjectKeyFromObject(parent)
	var requests []Request
	if tagged := slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return key == "" }); len(tagged) < len(keys) {
		// Outputs whose map key was emptied are to be released, and are no key.
		requests, keys = append(requests, Request{Parent: name}), tagged
	}
	for _, key := range r.ledger.open(name, parent.GetUID(), keys) {
		requests = append(requests, Request{Parent: name, MapKey: key})
	}
	if pq, ok := q.(priorityqueue.PriorityQueue[Request]); ok {
		pq.AddWithOpts(priorityqueue.AddOpts{Priority: new(fanOutPriority)}, requests...)
		return
	}
	for _, req := range requests {
		q.Add(req)
	}
}

func (r *router[P, S]) keysOf(parent P) ([]string, error) {
	var keys []string
	// Of an invalid spec only the outputs are known: the rest comes with the
	// event that mends it.
	if selector, err := r.Select(parent); err == nil {
		for _, in := range r.Inputs {
			found, err := r.cache.inputs(in, parent.GetNamespace(), selector)
			if err != nil {
				return nil, err
			}
			for _, o := range found {
				keys = append(keys, r.MapKey(o))
			}
		}
	}
	outputs, err := r.cache.claimableAll(r.Outputs, parent)
	if err != nil {
		return nil, err
	}
	for _, o := range outputs {
		keys = append(keys, o.GetLabels()[r.Tags.MapKey])
	}
	return keys, nil
}
