// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/guard"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/plan"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/queue"
)

// Executor carries out plans.
type Executor struct {
	Client   client.Client
	Clock    clock.PassiveClock
	Kinds    *plan.Kinds
	Guard    *guard.Guard
	Attempts *queue.Attempts
	Pace     *queue.Pace
	// MayCreate is the MapController's Gate.
	MayCreate func(req plan.Request, create []plan.Desired, outputs []client.Object) (why string)
	// KindMissing is called when a write finds that a kind may be missing.
	KindMissing func()
	// Finalizer is set on a parent that owns by labels while outputs may still refer to
	// it, and on one that Lingers. Empty: never.
	Finalizer string
	// Lingers returns whether the deletion of a parent must wait until its outputs have
	// settled. Nil: no deletion waits.
	Lingers func(parent client.Object) bool
	// Missing returns whether an error means that a kind is not installed.
	Missing func(error) bool

	// released holds a version of each parent to which no output refers.
	released sync.Map
}

// Outcome is what became of a plan.
type Outcome struct {
	// Spec is the Program.Spec by which the key was decided about; nil if the spec is invalid.
	Spec    any
	Created []client.Object
	Deleted []plan.Removal
	// Released have no reference to the parent any more.
	Released []client.Object
	// Failed are the writes that failed.
	Failed []Failure
	// Err is what of the decision broke the rules, and was left out: the plan's Err.
	Err error
	// Unanswered are the outputs of creates that may have been made.
	Unanswered []client.Object
	// Queued is why creates wait until they may be made; empty if none do.
	Queued string
	// Paused is set if deletes were due but not safe: guard.ErrClockSkew.
	Paused error
	// Waiting is set if deletes are due and were not tried in this pass, so that
	// nothing new is known about them.
	Waiting bool
}

// Verb is a kind of write.
type Verb string

// The verbs of writes that can fail.
const (
	VerbCreate  Verb = "create"
	VerbUpdate  Verb = "update"
	VerbDelete  Verb = "delete"
	VerbAdopt   Verb = "adopt"
	VerbRelease Verb = "release"
)

// Failure is one write that failed.
type Failure struct {
	Verb   Verb
	Object client.Object
	Err    error
	// BackingOff is set if the write was not tried in this pass, because it failed before.
	// Err is that of the last attempt.
	BackingOff bool
}

// NotAdopted returns the orphans whose adoption the API server refused in an answer:
// without one, or after an error of the server, it may have been made.
func (o *Outcome) NotAdopted() (orphans []client.Object) {
	for _, f := range o.Failed {
		if f.Verb == VerbAdopt && refused(f.Err) {
			orphans = append(orphans, f.Object)
		}
	}
	return orphans
}

// refused returns whether the API server has refused a request. With any other error, such as a lost answer, it may have
// been carried out.
func refused(err error) bool {
	status := apierrors.APIStatus(nil)
	return errors.As(err, &status) && status.Status().Code/100 == 4
}

// Work is a plan to carry out, and what it is about.
type Work struct {
	Request plan.Request
	Parent  client.Object
	Seen    plan.Observation
	Plan    plan.Plan
	// Aside are the orphans that were left out of the observation: see SetAside.
	Aside []client.Object
}

// run is one plan being carried out. A write that fails stops no other.
type run struct {
	executor *Executor
	work     Work

	outcome Outcome
	// deleteAt is when the key may delete next, and waits is set if deletes wait for that.
	deleteAt time.Time
	waits    bool
	// retry is why the pass has to be repeated, if not for a failed write.
	retry error
	// next is when the key falls due.
	next time.Time
}

// Forget drops what is remembered of a key whose parent is gone.
func (e *Executor) Forget(req plan.Request) {
	e.Attempts.Drop(req)
	e.Pace.Drop(req)
	e.MayCreate(req, nil, nil)
}

// SetAside separates the orphans whose adoption fails repeatedly from the other outputs of a
// key: a plan without them may delete.
func (e *Executor) SetAside(parent client.Object, req plan.Request, outputs []client.Object) (rest, aside []client.Object) {
	if !e.Attempts.Known(req) {
		return outputs, nil
	}
	for _, o := range outputs {
		if e.Kinds.Ownership.Relation(parent, o).Orphan && e.failsRepeatedly(req, o) {
			aside = append(aside, o)
		} else {
			rest = append(rest, o)
		}
	}
	return rest, aside
}

// failsRepeatedly returns whether a write of an object failed more than once, and is not due
// again yet. A first failure may be a conflict or a hiccup, which must not change what is
// decided.
func (e *Executor) failsRepeatedly(req plan.Request, o client.Object) bool {
	attempts, err := e.Attempts.BackingOff(req, o.GetUID())
	return attempts > 1 && err != nil
}

// Run carries out a plan. It returns the delay until the key's next pass, and an
// error if the pass must be repeated for more than a conflict; the queue asks
// Attempts for the delay then. Creates come first, so that a new output waits for
// nothing.
func (e *Executor) Run(ctx context.Context, w Work) (Outcome, time.Duration, error) {
	r, p := &run{executor: e, work: w, next: w.Plan.Next, outcome: Outcome{Err: w.Plan.Err}}, w.Plan
	if why := e.MayCreate(w.Request, p.Create, w.Seen.Outputs); why == "" {
		for _, want := range p.Create {
			r.create(ctx, want.Object)
		}
	} else if len(p.Create) > 0 {
		r.outcome.Queued = why
	}
	for _, c := range p.Collisions {
		_ = r.result(ctx, VerbCreate, c.Desired, c.Err)
	}
	for _, u := range p.Update {
		_ = r.result(ctx, VerbUpdate, u.Observed, r.update(ctx, u))
	}
	for _, o := range p.Release {
		if r.backingOff(VerbRelease, o) {
			continue
		}
		err := e.removeOwner(ctx, o, w.Parent.GetUID())
		if client.IgnoreNotFound(err) == nil {
			r.outcome.Released = append(r.outcome.Released, o)
		}
		r.tried(ctx, VerbRelease, o, err)
	}
	for _, o := range w.Aside {
		r.backingOff(VerbAdopt, o)
	}
	r.adoptAll(ctx)
	r.deleteAll(ctx)
	return r.outcome, r.finish(), r.err()
}

// finish returns the delay until the next pass.
func (r *run) finish() time.Duration {
	wanted := slices.Concat(r.work.Aside, r.work.Plan.Adopt, r.work.Plan.Release)
	for _, d := range r.work.Plan.Delete {
		wanted = append(wanted, d.Object)
	}
	failed := r.retry != nil || r.work.Plan.Err != nil || slices.ContainsFunc(r.outcome.Failed, func(f Failure) bool {
		return f.Verb == VerbCreate || f.Verb == VerbUpdate
	})
	return r.executor.Attempts.Finish(r.work.Request, queue.Pass{
		Failed: failed, Next: r.next, Wanted: wanted, DeleteAt: r.deleteAt, Waits: r.waits || r.outcome.Queued != "",
	})
}

// err returns the failed writes, and what else must show as an error. Conflicts,
// objects that are still being deleted, clock skew and pace are none: they pass,
// or have a condition of their own.
func (r *run) err() error {
	var errs []error // none is allocated in a pass that fails in nothing
	if err := r.work.Plan.Err; err != nil {
		errs = append(errs, err)
	}
	if r.retry != nil && !passes(r.retry) {
		errs = append(errs, r.retry)
	}
	for _, f := range r.outcome.Failed {
		if !f.BackingOff {
			errs = append(errs, fmt.Errorf("%s %s: %w", f.Verb, f.Object.GetName(), f.Err))
		}
	}
	return errors.Join(errs...)
}

// passes returns whether an error goes away by itself.
func passes(err error) bool {
	return errors.Is(err, guard.ErrChanged) || errors.Is(err, guard.ErrClockSkew)
}

// result records the result of a write, and returns the error that a user should
// know. A write that came too late, because the object changed or is gone, is no
// failure: the cache will show why. Nor is one that ended with the manager, which may
// have been made.
func (r *run) result(ctx context.Context, verb Verb, o client.Object, err error) error {
	switch {
	case apierrors.IsConflict(err), err != nil && ctx.Err() != nil:
		r.retry = guard.ErrChanged
	case passes(err):
		r.retry = err
	case client.IgnoreNotFound(err) != nil || err != nil && verb == VerbCreate:
		r.outcome.Failed = append(r.outcome.Failed, Failure{Verb: verb, Object: o, Err: err})
		return err
	}
	return nil
}

// tried records the result of a write that backs off by itself.
func (r *run) tried(ctx context.Context, verb Verb, o client.Object, err error) {
	if err != nil {
		// Also where the object has changed or is gone: a cache that lags must not cost
		// requests and reservations until it catches up.
		r.executor.Attempts.Failed(r.work.Request, o.GetUID(), r.result(ctx, verb, o, err))
		return
	}
	r.executor.Attempts.Succeeded(r.work.Request, o.GetUID())
}

// backingOff returns whether a write failed before and is not due again. Its error is
// reported once more.
func (r *run) backingOff(verb Verb, o client.Object) bool {
	attempts, err := r.executor.Attempts.BackingOff(r.work.Request, o.GetUID())
	if err != nil {
		r.outcome.Failed = append(r.outcome.Failed, Failure{Verb: verb, Object: o, Err: err, BackingOff: true})
	}
	return attempts > 0
}
