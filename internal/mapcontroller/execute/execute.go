// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/guard"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/plan"
)

// Executor carries out plans.
type Executor struct {
	// Name is the field manager of all writes.
	Name   string
	Client client.Client
	// Workers is how many outputs of one parent are released concurrently.
	Workers int
	// Create creates an output. Its response is not used.
	Create   func(context.Context, client.Object) error
	Clock    clock.PassiveClock
	Rules    *plan.Rules
	Guard    *guard.Guard
	Attempts *Attempts
	// KindMissing is called when a write finds that a kind may be missing.
	KindMissing func()
}

// Outcome is what became of a plan.
type Outcome struct {
	Created []client.Object
	Deleted []plan.Removal
	// Failed are the writes that failed.
	Failed []Failure
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
	// Held is set if the write was not tried in this pass, because it failed before
	// and its backoff has not expired. Err is that of the last attempt.
	Held bool
}

// run is one plan being carried out. A write that fails stops no other.
type run struct {
	*Executor
	req    plan.Request
	parent client.Object
	plan   plan.Plan
	seen   plan.Observation

	outcome Outcome
	// due is set if the plan has deletes that do not back off.
	due bool
	// retry is why the pass has to be repeated, if not for a failed write.
	retry error
	// next is when the key falls due.
	next time.Time
}

// Held separates the orphans whose adoption failed, and is not due again, from
// the other outputs of a key. A plan without them may delete.
func (e *Executor) Held(req plan.Request, outputs []client.Object) (rest, held []client.Object) {
	if !e.Attempts.known(req) {
		return outputs, nil
	}
	for _, o := range outputs {
		if plan.ControllerUID(o) == "" && e.Attempts.holds(req, o.GetUID()) {
			held = append(held, o)
		} else {
			rest = append(rest, o)
		}
	}
	return rest, held
}

// Run carries out a plan that was built without the held outputs. It returns the
// delay until the key's next pass, and an error if the pass must be repeated for
// more than a conflict; the queue asks Attempts for the delay then. Creates come
// first, so that a new output waits for nothing.
func (e *Executor) Run(
	ctx context.Context, req plan.Request, parent client.Object, p plan.Plan, seen plan.Observation, held []client.Object,
) (Outcome, time.Duration, error) {
	r := &run{Executor: e, req: req, parent: parent, plan: p, seen: seen, next: p.Next}
	for _, want := range p.Create {
		r.create(ctx, want)
	}
	for _, u := range p.Update {
		r.result(VerbUpdate, u.Observed, client.IgnoreNotFound(r.patch(ctx, u.Observed, u.Changed)))
	}
	for _, o := range p.Release {
		r.object(VerbRelease, o, func() error { return r.removeOwner(ctx, o, parent.GetUID()) })
	}
	for _, o := range held {
		r.stillFails(VerbAdopt, o)
	}
	r.adoptAll(ctx)
	r.deleteAll(ctx)
	return r.outcome, r.finish(held), r.err()
}

// finish returns the delay until the next pass.
func (r *run) finish(held []client.Object) time.Duration {
	p := pass{next: r.next, deletes: r.due, failed: r.retry != nil || r.plan.Err != nil}
	for _, f := range r.outcome.Failed {
		p.failed = p.failed || f.Verb == VerbCreate || f.Verb == VerbUpdate
	}
	if r.Attempts.known(r.req) {
		p.wanted = map[types.UID]bool{}
		for _, o := range slices.Concat(held, r.plan.Adopt, r.plan.Release) {
			p.wanted[o.GetUID()] = true
		}
		for _, d := range r.plan.Delete {
			p.wanted[d.Object.GetUID()] = true
		}
	}
	return r.Attempts.finish(r.req, p)
}

// err returns the failed writes, and what else must show as an error. Conflicts,
// objects that are still being deleted, clock skew and pace are none: they pass,
// or have a condition of their own.
func (r *run) err() error {
	errs := []error{r.plan.Err}
	if r.retry != nil && !expected(r.retry) {
		errs = append(errs, r.retry)
	}
	for _, f := range r.outcome.Failed {
		if !f.Held {
			errs = append(errs, fmt.Errorf("%s %s: %w", f.Verb, f.Object.GetName(), f.Err))
		}
	}
	return errors.Join(errs...)
}

func expected(err error) bool {
	return errors.Is(err, guard.ErrChanged) || errors.Is(err, guard.ErrClockSkew) ||
		errors.Is(err, errTerminating) || errors.Is(err, errReleasing)
}

// result records the result of a write. One that came too late, because the
// object changed or is gone, is no failure: the cache will show why.
func (r *run) result(verb Verb, o client.Object, err error) {
	switch {
	case err == nil:
	case expected(err):
		r.retry = err
	case apierrors.IsConflict(err):
		r.retry = guard.ErrChanged
	default:
		r.outcome.Failed = append(r.outcome.Failed, Failure{Verb: verb, Object: o, Err: err})
	}
}

// object makes a write that backs off by itself, unless it is backing off.
func (r *run) object(verb Verb, o client.Object, write func() error) {
	if r.Attempts.holds(r.req, o.GetUID()) {
		r.stillFails(verb, o)
		return
	}
	err := write()
	if err == nil {
		r.Attempts.objectDone(r.req, o.GetUID())
		return
	}
	// Also where the object has changed or is gone: a cache that lags must not cost
	// requests and turns until it catches up.
	r.Attempts.objectFailed(r.req, o.GetUID(), err)
	r.result(verb, o, client.IgnoreNotFound(err))
}

// stillFails reports a write that failed before and is not due again.
func (r *run) stillFails(verb Verb, o client.Object) {
	if err := r.Attempts.lastError(r.req, o.GetUID()); err != nil {
		r.outcome.Failed = append(r.outcome.Failed, Failure{Verb: verb, Object: o, Err: err, Held: true})
	}
}

func (r *run) log(ctx context.Context) logr.Logger { return logf.FromContext(ctx) }
