// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package mapcontroller

import (
	"cmp"
	"context"
	"maps"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/plan"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/queue"
)

type keyQueue = workqueue.TypedRateLimitingInterface[Request]

// EventHandler enqueues keys.
type EventHandler = handler.TypedEventHandler[client.Object, Request]

// fanOutPriority lets the event of one object overtake the many keys of a parent
// that changed.
var fanOutPriority = -10

// events returns a handler that calls on with an object before and after an event;
// nil stands for one that does not exist.
func events(on func(q keyQueue, before, after client.Object)) handler.TypedFuncs[client.Object, Request] {
	return handler.TypedFuncs[client.Object, Request]{
		CreateFunc: func(_ context.Context, e event.TypedCreateEvent[client.Object], q keyQueue) { on(q, nil, e.Object) },
		UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[client.Object], q keyQueue) {
			on(q, e.ObjectOld, e.ObjectNew)
		},
		DeleteFunc: func(_ context.Context, e event.TypedDeleteEvent[client.Object], q keyQueue) { on(q, e.Object, nil) },
	}
}

// parentEvents returns the handler of events of parents: they enqueue all keys
// of the parent, unless nothing changed that concerns them.
func (c *Controller) parentEvents() EventHandler {
	return events(func(q keyQueue, before, after client.Object) {
		if after == nil {
			c.forget(before)
		} else if before == nil || c.parentChanged(before, after) {
			c.fanOut(q, after)
		}
	})
}

func (c *Controller) parentChanged(before, after client.Object) bool {
	return before.GetUID() != after.GetUID() ||
		before.GetGeneration() != after.GetGeneration() ||
		!before.GetDeletionTimestamp().Equal(after.GetDeletionTimestamp()) ||
		(c.spec.ParentChanged != nil && c.spec.ParentChanged(before, after)) ||
		c.spec.Release.Lingers != nil && c.spec.Release.Lingers(after) && len(before.GetFinalizers()) != len(after.GetFinalizers()) ||
		!plan.SameSpec(before, after) // after a restore of etcd, perhaps with the same generation
}

// fanOut enqueues the keys of a parent's selected inputs and those found on its
// outputs.
func (c *Controller) fanOut(q keyQueue, parent client.Object) {
	name, compiled := client.ObjectKeyFromObject(parent), c.compiled(parent)
	if compiled.Invalid != nil || compiled.Program.Key == nil {
		c.steady.ForgetParent(name)
	}
	for _, key := range c.aggregator.Track(parent, c.lookup.MapKeys(compiled)) {
		req := Request{Parent: name, MapKey: key}
		if pq, ok := q.(priorityqueue.PriorityQueue[Request]); ok {
			pq.AddWithOpts(priorityqueue.AddOpts{Priority: &fanOutPriority}, req)
		} else {
			q.Add(req)
		}
	}
}

func (c *Controller) fanOutAll(q keyQueue) {
	for _, parent := range c.lookup.Parents(nil) {
		c.fanOut(q, parent)
	}
}

// inputEvents returns the handler of events of an input kind: they enqueue the
// input's key for the parents that select it, selected it before the change, or
// still have outputs of it.
func (c *Controller) inputEvents(in Input) EventHandler {
	return events(func(q keyQueue, before, after client.Object) {
		if before != nil && after != nil && !inputChanged(in, before, after) {
			return
		}
		for _, version := range []client.Object{before, after} {
			if version == nil {
				continue
			}
			for _, o := range c.lookup.Parents(version) {
				c.inputEvent(q, c.compiled(o), version)
			}
			c.sourceEvent(q, version)
		}
	})
}

// inputEvent enqueues the key that a parent's spec gives an input, and the one that it would
// have without, if the parent has outputs of it.
func (c *Controller) inputEvent(q keyQueue, parent plan.Parent, input client.Object) {
	own, key := c.kinds.MapKey(input), c.kinds.Key(parent, input)
	req := Request{Parent: client.ObjectKeyFromObject(parent.Object), MapKey: key}
	if key != plan.NoMapKey && (parent.Invalid == nil && parent.Program.Selects(input) || c.aggregator.Knows(req)) {
		q.Add(req)
	}
	if req.MapKey = own; own != key && own != plan.NoMapKey && c.aggregator.Knows(req) {
		q.Add(req)
	}
}

// sourceEvent enqueues the keys of the outputs that were made from an input.
func (c *Controller) sourceEvent(q keyQueue, input client.Object) {
	for _, o := range c.lookup.MadeFrom(c.lookup.Scope(input), c.kinds.MapKey(input)) {
		if req, _ := c.lookup.Request(o); req.Parent.Name != "" {
			q.Add(req)
		}
	}
}

// relatedEvents returns the handler of events of a related kind: they enqueue all keys of
// the parents that they concern. The first list enqueues none, because no key is reconciled
// before it.
func (c *Controller) relatedEvents(in Input) EventHandler {
	fanOut := func(q keyQueue, o client.Object) {
		for _, parent := range c.lookup.Parents(nil) {
			if in.Concerns == nil || in.Concerns(o, parent) {
				c.fanOut(q, parent)
			}
		}
	}
	changed := events(func(q keyQueue, before, after client.Object) {
		if before == nil || after == nil {
			fanOut(q, cmp.Or(after, before))
		} else if inputChanged(in, before, after) {
			fanOut(q, after)
		}
	})
	changed.CreateFunc = func(_ context.Context, e event.TypedCreateEvent[client.Object], q keyQueue) {
		if !e.IsInInitialList {
			fanOut(q, e.Object)
		}
	}
	return changed
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

// outputEvents returns the handler of events of an output kind: they enqueue the
// output's key for the parent that controls it or, if nothing does, for the one
// that it names. As the ControllerRef proposal has it, nobody cares when an
// orphan is deleted: one whose parent does not own by labels.
func (c *Controller) outputEvents(out Output) EventHandler {
	return events(func(q keyQueue, before, after client.Object) {
		if before != nil && after != nil && before.GetResourceVersion() == after.GetResourceVersion() {
			return // a resync
		}
		was, wasOwned := c.lookup.Request(before)
		is, owned := c.lookup.Request(after)
		if owned {
			c.seen(is, after, after.GetDeletionTimestamp() != nil)
		}
		c.onChange(out, is.Parent, before, after, owned)
		if after == nil {
			c.outputDeleted(q, was, wasOwned, before)
			return
		}
		c.released(q, is, owned)
		if wasOwned && was != is {
			q.Add(was)
		}
		if is.Parent.Name != "" && (before == nil || wasOwned || owned || tagsChanged(before, after) || c.kinds.Ownership.IsForeign(before)) {
			q.Add(is)
		}
	})
}

// onChange passes on the event of an output. What is foreign is not counted, although the
// parent may still control it.
func (c *Controller) onChange(out Output, parent types.NamespacedName, before, after client.Object, owned bool) {
	if !owned || c.kinds.Ownership.IsForeign(after) {
		after = nil
	}
	if out.OnChange != nil && (before != nil || after != nil) {
		out.OnChange(parent, before, after)
	}
}

func (c *Controller) outputDeleted(q keyQueue, req Request, owned bool, o client.Object) {
	if !owned {
		return
	}
	// An output that lost its map key arrives as deleted, like one that somebody else
	// deleted and that had no finalizers. Without a controller, it is released already.
	if !c.seen(req, o, true) && o.GetDeletionTimestamp() == nil && plan.ControllerUID(o) != "" {
		c.released(q, plan.SearchOf(req.Parent), owned)
	}
	q.Add(req)
}

// released enqueues a search, for which the status waits: an output that lost its map key,
// and that the parent still controls, is the parent's until it is released.
func (c *Controller) released(q keyQueue, req Request, owned bool) {
	if owned && req.IsSearch() {
		c.aggregator.AwaitSearch(req.Parent)
		q.Add(req)
	}
}

// seen ends the expectations of an output that is seen in the cache, perhaps as deleted. It
// returns whether our own delete was one.
func (c *Controller) seen(req Request, o client.Object, deleted bool) bool {
	id := c.kinds.ID(o)
	c.attempts.Seen(req, queue.Expectation{ID: id})
	return deleted && c.attempts.Seen(req, queue.Expectation{ID: id, Deleted: true})
}
