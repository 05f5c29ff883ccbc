// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package mapcontroller

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/execute"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/plan"
)

// Reconcile makes one pass over one key: compile, observe, decide, build,
// execute, report, requeue. A pass with an error is requeued when the key's rate
// limiter says; every other one when the result says.
func (c *Controller) Reconcile(ctx context.Context, req Request) (reconcile.Result, error) {
	parent, ok := c.parent(req.Parent)
	if !ok {
		c.attempts.ForgetKey(req)
		c.parentDeleted(req.Parent)
		return reconcile.Result{}, nil
	}
	if parent.Object.GetDeletionTimestamp() != nil {
		// The garbage collector decides about its outputs, or the finalizer.
		c.attempts.ForgetKey(req)
		return reconcile.Result{}, nil
	}
	if held := c.attempts.Expects(req); held > 0 {
		return reconcile.Result{RequeueAfter: held, Priority: &normalPriority}, nil
	}

	seen, held := c.observe(parent, req)
	p := c.rules.Build(parent, req, seen)
	outcome, delay, err := c.executor.Run(ctx, req, parent.Object, p, seen, held)
	left := req.MapKey != "" && len(seen.Outputs) > 0
	if parent.Invalid == nil && req.MapKey != "" {
		left = c.report(parent.Object, req, p, outcome)
	}
	if err != nil {
		return reconcile.Result{Priority: &normalPriority}, err
	}
	if delay == execute.LongestDelay && !left {
		return reconcile.Result{}, nil // nothing is left of this key
	}
	return reconcile.Result{RequeueAfter: delay, Priority: &normalPriority}, nil
}

// normalPriority is that of every requeue: otherwise a key that a fan-out
// enqueued at a low priority would keep it, and starve under the next fan-out.
var normalPriority = 0

// observe reads what a decision about a key may depend on. Orphans whose adoption
// was refused, and is not due again, are held back from it.
func (c *Controller) observe(parent plan.Parent, req Request) (seen Observation, held []client.Object) {
	seen = Observation{Now: c.Clock.Now(), MapKey: req.MapKey}
	seen.Outputs, held = c.executor.Held(req, c.observer.Outputs(parent.Object, req.MapKey))
	if parent.Invalid != nil || req.MapKey == "" {
		return seen, held
	}
	seen.Selected, seen.Unselected = c.observer.Inputs(parent, req.MapKey)
	if c.Related != nil {
		seen.Related = c.Related(parent.Object)
	}
	return seen, held
}

// report passes on what became of a key and keeps its status. It returns whether
// there is anything left to keep.
func (c *Controller) report(parent client.Object, req Request, p plan.Plan, outcome execute.Outcome) bool {
	uid, key := parent.GetUID(), p.Key
	if c.Report != nil {
		key.Status = c.Report(parent, req.MapKey, c.aggregator.Previous(req, uid), key.Status, outcome)
	}
	if key.Empty() {
		c.aggregator.Put(req, uid, nil)
		return false
	}
	c.aggregator.Put(req, uid, &key)
	return true
}
