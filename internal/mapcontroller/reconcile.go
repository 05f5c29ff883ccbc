// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package mapcontroller

import (
	"context"
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/execute"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/guard"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/plan"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/queue"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/status"
)

// Reconcile makes one pass over one key: compile, observe, decide, build,
// execute, report, requeue. A pass with an error is requeued when the key's rate
// limiter says; every other one when the result says.
func (c *Controller) Reconcile(ctx context.Context, req Request) (reconcile.Result, error) {
	if req == plan.SearchAll {
		return reconcile.Result{}, c.searchAll(ctx)
	}
	if !c.shares.Enter(req.Parent.Namespace, req) {
		return reconcile.Result{}, c.decide(ctx, req) // it is enqueued when a worker of its namespace is free
	}
	defer c.shares.Leave(req.Parent.Namespace)
	epoch := c.aggregator.Begin(req)
	parent, ok := c.parent(req.Parent)
	if !ok && req.IsSearch() {
		return c.awaitParent(ctx, req)
	}
	if !ok {
		c.parentDeleted(req.Parent)
	}
	if !ok || parent.Object.GetDeletionTimestamp() != nil {
		// The garbage collector decides about the outputs, or the finalizer.
		c.executor.Forget(req)
		return reconcile.Result{}, nil
	}
	result := reconcile.Result{Priority: &normalPriority}
	if result.RequeueAfter = c.attempts.Expects(req); result.RequeueAfter > 0 {
		return result, nil
	}
	seen, aside, err := c.observe(ctx, parent, req)
	if err != nil {
		return result, err
	}
	p := c.build(parent, req, seen)
	if keysAndValues := where(p.Err); len(keysAndValues) > 0 { // the error itself is logged with the pass
		logf.FromContext(ctx).Info("Decision panicked", keysAndValues...)
	}
	previous := c.aggregator.Decide(epoch, req, parent.Object.GetUID(), p.Key)
	outcome, delay, err := c.executor.Run(ctx, execute.Work{Request: req, Parent: parent.Object, Seen: seen, Plan: p, Aside: aside})
	c.recount(&p, req, outcome)
	left := c.report(epoch, parent, req, p, previous, outcome)
	if err == nil && (left || delay < queue.LongestDelay) { // else nothing is left of this key
		result.RequeueAfter = delay
	}
	return result, err
}

// build returns the plan for a key, with its counts.
func (c *Controller) build(parent plan.Parent, req Request, seen Observation) plan.Plan {
	p := c.kinds.Build(parent, req, seen)
	p.Key.Counts = c.kinds.Counts(&p, nil)
	return p
}

// recount takes off the counts what was not adopted, and what was released if no event shows it, because no cache holds it.
func (c *Controller) recount(p *plan.Plan, req Request, outcome execute.Outcome) {
	gone := outcome.NotAdopted()
	if req.IsSearch() {
		gone = outcome.Released
	}
	if len(gone) > 0 {
		p.Key.Counts = c.kinds.Counts(p, gone)
	}
}

// decide makes the decision about a key, without carrying it out: the status must not wait
// until the writes of other keys end, also where its own have ended and are to be counted.
func (c *Controller) decide(ctx context.Context, req Request) error {
	parent, ok := c.parent(req.Parent)
	if !ok || req.IsSearch() || parent.Object.GetDeletionTimestamp() != nil {
		return nil
	}
	epoch := c.aggregator.Epoch()
	seen, _, err := c.observe(ctx, parent, req)
	if err == nil {
		c.aggregator.Decide(epoch, req, parent.Object.GetUID(), c.build(parent, req, seen).Key)
	}
	return err
}

// awaitParent requeues a search until the cache has the parent, if the API server has it:
// nothing else would look for the outputs.
func (c *Controller) awaitParent(ctx context.Context, req Request) (reconcile.Result, error) {
	if err := c.guard.Live.Get(ctx, req.Parent, c.spec.NewParent()); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	return reconcile.Result{RequeueAfter: time.Second, Priority: &normalPriority}, nil
}

// normalPriority is that of every requeue: otherwise a key that a fan-out
// enqueued at a low priority would keep it, and starve under the next fan-out.
var normalPriority = 0

// observe reads what a decision about a key may depend on. Orphans that cannot be adopted
// are no part of it.
func (c *Controller) observe(
	ctx context.Context, parent plan.Parent, req Request,
) (seen Observation, aside []client.Object, err error) {
	seen = Observation{Now: c.options.Clock.Now(), MapKey: req.MapKey}
	seen.Outputs, aside = c.executor.SetAside(parent.Object, req, c.lookup.Outputs(parent.Object, req.MapKey))
	if req.IsSearch() {
		// A cache may hold only outputs with a map key.
		cached := seen.Outputs
		err = c.untagged(ctx, req.Parent.Namespace, func(o client.Object) {
			if c.kinds.Find(cached, o) == nil {
				seen.Outputs = append(seen.Outputs, o)
			}
		})
	} else if parent.Invalid == nil {
		if seen.Missing = c.installed.MissingOptional(); parent.Program.NeedsOptional {
			c.installed.Want()
		}
		sources := c.kinds.Sources(seen.Outputs)
		seen.Selected, seen.Unselected = c.lookup.Inputs(parent, req.MapKey, sources)
		if parent.Program.Key != nil {
			seen.SameSince, seen.ChangingSince = c.steady.Observe(req, seen.Selected, seen.Now)
		}
		seen.Elsewhere = c.lookup.Elsewhere(parent, req.MapKey, seen.Selected, sources)
		seen.Children = append(c.lookup.Children(seen.Outputs), c.lookup.Children(seen.Elsewhere)...)
		if c.spec.Related.Objects != nil {
			seen.Related = c.spec.Related.Objects(parent.Object, seen)
		}
	}
	return seen, aside, err
}

// untagged calls do with the metadata of the outputs in a namespace, or in all of
// them, that carry no map key. Where a status may say what the labels do not, metadata show nothing, and the
// cache holds them all.
func (c *Controller) untagged(ctx context.Context, namespace string, do func(client.Object)) error {
	if c.spec.Ownership.Recorded != nil {
		return nil
	}
	selector, err := labels.Parse("!" + c.spec.Ownership.Tags.MapKey)
	for _, out := range c.spec.Outputs {
		if out.Optional && len(c.installed.MissingOptional()) > 0 {
			continue // it is listed later, which leads to another search
		}
		err = errors.Join(err, guard.EachMetadata(ctx, c.guard.Live, c.kinds.Of(out.Object), do,
			client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: selector}))
	}
	return err
}

// searchAll enqueues the searches of the parents of outputs that lost their map key while
// no manager ran. Their statuses wait for both.
func (c *Controller) searchAll(ctx context.Context) error {
	var errs []error
	for _, namespace := range c.options.Namespaces {
		err := c.untagged(ctx, namespace, func(o client.Object) {
			if search, owned := c.lookup.Request(o); owned {
				c.aggregator.AwaitSearch(search.Parent)
				c.keys.Add(search)
			}
		})
		if errs = append(errs, err); err == nil { // one may be gone, and the Role in it
			c.aggregator.Searched(namespace)
		}
	}
	err := errors.Join(errs...)
	if err == nil {
		c.aggregator.Searched(metav1.NamespaceAll)
	}
	return err
}

// report passes on what became of a key and keeps its status. It returns whether
// there is anything left to keep.
func (c *Controller) report(
	epoch status.Epoch, parent plan.Parent, req Request, p plan.Plan, previous any, outcome execute.Outcome,
) bool {
	key := p.Key
	if c.spec.Status.OfKey != nil {
		if parent.Program != nil {
			outcome.Spec = parent.Program.Spec
		}
		key.Status = c.spec.Status.OfKey(parent.Object, req.MapKey, previous, key.Status, outcome)
	}
	c.aggregator.Put(epoch, req, parent.Object.GetUID(), key, p.Referred)
	return !key.Empty()
}
