// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/guard"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/plan"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/queue"
)

// deleteAll makes the deletes that the pace allows, after the guard has confirmed them.
func (r *run) deleteAll(ctx context.Context) {
	r.outcome.Waiting = r.work.Plan.Withheld
	due, paced := r.due()
	granted, at := r.executor.Pace.Take(r.work.Request, len(paced))
	r.deleteAt, r.waits = at, granted < len(paced)
	due = append(due, paced[:granted]...)
	if len(due) == 0 {
		r.outcome.Waiting = r.outcome.Waiting || len(r.work.Plan.Delete) > 0
		return
	}
	confirmed, err := r.executor.Guard.Confirm(ctx, r.work.Request, r.work.Parent, r.work.Plan, due, r.work.Seen)
	if err != nil {
		r.unconfirmed(ctx, append(due, paced[granted:]...), fmt.Errorf("confirm deletes: %w", err))
		return
	}
	if len(confirmed.Deletes()) < len(due) {
		r.retry = guard.ErrChanged
	}
	for _, d := range confirmed.Deletes() {
		r.tried(ctx, VerbDelete, d.Object, r.delete(ctx, confirmed, d))
	}
}

// due returns the deletes that are due, by whether they are urgent. Those that failed are passed over until they are due
// again, and take no place; what this process has deleted already, unseen, has its place.
func (r *run) due() (urgent, paced []plan.Removal) {
	places := r.work.Plan.Places
	for _, d := range r.work.Plan.Delete {
		if d.Bounded && r.deletedUnseen(d.Object) {
			places--
		}
	}
	for _, d := range r.work.Plan.Delete {
		needsPlace := d.Bounded && !r.deletedUnseen(d.Object)
		if r.backingOff(VerbDelete, d.Object) || needsPlace && places <= 0 {
			continue
		}
		if needsPlace {
			places--
		}
		if d.Urgent {
			urgent = append(urgent, d)
		} else {
			paced = append(paced, d)
		}
	}
	return urgent, paced
}

// deletedUnseen returns whether this process has deleted an object, and the cache does not show that.
func (r *run) deletedUnseen(o client.Object) bool {
	return r.executor.Attempts.Unseen(r.work.Request, queue.Expectation{ID: r.executor.Kinds.ID(o), Deleted: true})
}

// unconfirmed backs off deletes that could not be confirmed, also those that have
// yet to wait for the pace: events before the retry must not repeat the reads.
func (r *run) unconfirmed(ctx context.Context, due []plan.Removal, err error) {
	if errors.Is(err, guard.ErrClockSkew) {
		r.outcome.Paused = err
	}
	reported := r.result(ctx, VerbDelete, due[0].Object, err)
	for _, d := range due {
		r.executor.Attempts.Failed(r.work.Request, d.Object.GetUID(), reported)
	}
}

// errTooOld says that the live reads took so long that no delete may depend on them.
var errTooOld = errors.New("the reads that confirm the delete took too long")

// delete holds the API server to the very object that was decided on. It gives
// up when the confirmation has expired, because the client itself retries for
// long where the server asks for it.
func (r *run) delete(ctx context.Context, confirmed guard.Confirmed, d plan.Removal) error {
	left := confirmed.Left(r.executor.Clock.Now())
	switch {
	case left <= 0 && len(r.outcome.Deleted) > 0:
		return guard.ErrChanged // the next pass goes on from here
	case left <= 0:
		return errTooOld
	}
	ctx, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	write := queue.Expectation{ID: r.executor.Kinds.ID(d.Object), Deleted: true}
	first := r.executor.Attempts.Expect(r.work.Request, write)
	uid, version := d.Object.GetUID(), d.Object.GetResourceVersion()
	err := r.executor.Client.Delete(ctx, d.Object, client.Preconditions{UID: &uid, ResourceVersion: &version})
	if err != nil {
		if apierrors.IsNotFound(err) || first && refused(err) { // else this delete, or an earlier one, may be done, unseen
			r.executor.Attempts.Seen(r.work.Request, write)
		}
		return err
	}
	r.outcome.Deleted = append(r.outcome.Deleted, d)
	logf.FromContext(ctx).Info("Deleted output", "output", d.Object.GetName(), "reason", d.Reason)
	return nil
}
