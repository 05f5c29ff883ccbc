// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package mapcontroller

import (
	"context"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/execute"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/plan"
)

type queue = workqueue.TypedRateLimitingInterface[Request]

// EventHandler enqueues keys.
type EventHandler = handler.TypedEventHandler[client.Object, Request]

// fanOutPriority lets the event of one object overtake the many keys of a parent
// that changed.
var fanOutPriority = -10

// ParentEvents returns the handler of events of parents: they enqueue all keys
// of the parent, unless nothing changed that concerns them.
func (c *Controller) ParentEvents() EventHandler {
	return handler.TypedFuncs[client.Object, Request]{
		CreateFunc: func(_ context.Context, e event.TypedCreateEvent[client.Object], q queue) { c.fanOut(q, e.Object) },
		UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[client.Object], q queue) {
			if c.parentChanged(e.ObjectOld, e.ObjectNew) {
				c.fanOut(q, e.ObjectNew)
			}
		},
		DeleteFunc: func(_ context.Context, e event.TypedDeleteEvent[client.Object], _ queue) { c.forget(e.Object) },
	}
}

func (c *Controller) parentChanged(before, after client.Object) bool {
	return before.GetUID() != after.GetUID() ||
		before.GetGeneration() != after.GetGeneration() ||
		!before.GetDeletionTimestamp().Equal(after.GetDeletionTimestamp()) ||
		(c.ParentChanged != nil && c.ParentChanged(before, after))
}

// fanOut enqueues the keys of a parent's selected inputs and those found on its
// outputs.
func (c *Controller) fanOut(q queue, parent client.Object) {
	name := client.ObjectKeyFromObject(parent)
	keys := c.observer.Keys(c.compiled(name, parent))
	var requests []Request
	if tagged := slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return key == "" }); len(tagged) < len(keys) {
		// Outputs whose map key was emptied are to be released; they are no key.
		requests, keys = append(requests, Request{Parent: name}), tagged
	}
	for _, key := range c.aggregator.Track(name, parent.GetUID(), keys) {
		requests = append(requests, Request{Parent: name, MapKey: key})
	}
	if pq, ok := q.(priorityqueue.PriorityQueue[Request]); ok {
		pq.AddWithOpts(priorityqueue.AddOpts{Priority: &fanOutPriority}, requests...)
		return
	}
	for _, req := range requests {
		q.Add(req)
	}
}

// InputEvents returns the handler of events of an input kind: they enqueue the
// input's key for the parents that select it, selected it before the change, or
// still have outputs of it.
func (c *Controller) InputEvents(kind int) EventHandler {
	in := c.Inputs[kind]
	return handler.TypedFuncs[client.Object, Request]{
		CreateFunc: func(_ context.Context, e event.TypedCreateEvent[client.Object], q queue) { c.routeInput(q, e.Object) },
		UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[client.Object], q queue) {
			if inputChanged(in, e.ObjectOld, e.ObjectNew) {
				c.routeInput(q, e.ObjectOld, e.ObjectNew)
			}
		},
		DeleteFunc: func(_ context.Context, e event.TypedDeleteEvent[client.Object], q queue) { c.routeInput(q, e.Object) },
	}
}

func inputChanged(in Input, before, after client.Object) bool {
	return in.Changed == nil || in.Changed(before, after) ||
		before.GetUID() != after.GetUID() ||
		!before.GetDeletionTimestamp().Equal(after.GetDeletionTimestamp()) ||
		tagsChanged(before, after)
}

// tagsChanged returns whether labels or controller changed.
func tagsChanged(before, after client.Object) bool {
	return !maps.Equal(before.GetLabels(), after.GetLabels()) || plan.ControllerUID(before) != plan.ControllerUID(after)
}

func (c *Controller) routeInput(q queue, versions ...client.Object) {
	for _, o := range c.observer.Parents(versions[0]) {
		name := client.ObjectKeyFromObject(o)
		parent := c.compiled(name, o)
		for _, v := range versions {
			req := Request{Parent: name, MapKey: c.MapKey(v)}
			if (parent.Invalid == nil && parent.Program.Selects(v)) || c.aggregator.Knows(req) {
				q.Add(req)
			}
		}
	}
}

// OutputEvents returns the handler of events of an output kind: they enqueue the
// output's key for the parent that controls it or, if nothing does, for the one
// that it names. As the ControllerRef proposal has it, nobody cares when an
// orphan is deleted.
func (c *Controller) OutputEvents(kind int) EventHandler {
	out := c.Outputs[kind]
	return handler.TypedFuncs[client.Object, Request]{
		CreateFunc: func(_ context.Context, e event.TypedCreateEvent[client.Object], q queue) {
			if req, owned := c.requestOf(e.Object); req.Parent.Name != "" {
				c.routeOutput(q, req, owned, e.Object)
			}
		},
		UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[client.Object], q queue) {
			if e.ObjectOld.GetResourceVersion() == e.ObjectNew.GetResourceVersion() {
				return // a resync
			}
			before, wasOwned := c.requestOf(e.ObjectOld)
			after, owned := c.requestOf(e.ObjectNew)
			if wasOwned && before != after {
				q.Add(before)
			}
			if owned && out.Updated != nil {
				out.Updated(after.Parent, e.ObjectOld, e.ObjectNew)
			}
			if after.Parent.Name != "" && (owned || tagsChanged(e.ObjectOld, e.ObjectNew)) {
				c.routeOutput(q, after, owned, e.ObjectNew)
			}
		},
		DeleteFunc: func(_ context.Context, e event.TypedDeleteEvent[client.Object], q queue) {
			req, owned := c.requestOf(e.Object)
			if !owned {
				return
			}
			id := c.rules.IDOf(e.Object)
			c.attempts.Shown(req, id)
			ours := c.attempts.Deleted(req, id)
			// To the cache, an output that lost its map key was deleted. So does a
			// deletion without finalizers look, unless it was our own.
			if r := (execute.Releaser{Executor: c.executor}); !ours && r.MayBeReleased(e.Object) {
				c.released.add(r.ReleaseOf(e.Object))
			}
			q.Add(req)
		},
	}
}

func (c *Controller) routeOutput(q queue, req Request, owned bool, o client.Object) {
	if owned {
		id := c.rules.IDOf(o)
		c.attempts.Shown(req, id)
		if o.GetDeletionTimestamp() != nil {
			c.attempts.Deleted(req, id)
		}
	}
	q.Add(req)
}

// requestOf returns the key that an output belongs to, and whether the parent
// controls it. What another kind controls belongs to none.
func (c *Controller) requestOf(o client.Object) (req Request, owned bool) {
	name := o.GetLabels()[c.Tags.Parent]
	if ref := metav1.GetControllerOfNoCopy(o); ref != nil {
		if !c.rules.IsParent(ref) {
			return Request{}, false
		}
		name, owned = ref.Name, true
	}
	return Request{Parent: c.observer.ParentName(o, name), MapKey: o.GetLabels()[c.Tags.MapKey]}, owned
}
