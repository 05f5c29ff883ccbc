// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/guard"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/plan"
)

// deleteAll makes the deletes whose turn it is, after the guard has confirmed
// them. Deletes that failed are passed over until they are due again.
func (r *run) deleteAll(ctx context.Context) {
	r.outcome.Waiting = r.plan.Withheld
	if len(r.plan.Delete) == 0 {
		return
	}
	due := slices.DeleteFunc(slices.Clone(r.plan.Delete), func(d plan.Removal) bool { return r.held(VerbDelete, d.Object) })
	r.due = len(due) > 0
	n := r.Attempts.take(r.req, len(due))
	if n == 0 {
		r.outcome.Waiting = true
		return
	}
	confirmed, err := r.Guard.Confirm(ctx, r.req, r.parent, r.plan, due[:n], r.seen)
	if err != nil {
		// All of them wait for the retry: events before it must not repeat the reads.
		for _, d := range due {
			r.Attempts.failed(r.req, d.Object.GetUID(), nil)
		}
		if errors.Is(err, guard.ErrClockSkew) {
			r.outcome.Paused = err
		}
		r.retry = fmt.Errorf("confirm deletes: %w", err)
		return
	}
	if len(confirmed.Deletes()) < n {
		r.retry = guard.ErrChanged
	}
	for _, d := range confirmed.Deletes() {
		r.object(VerbDelete, d.Object, func() error { return r.delete(ctx, confirmed, d) })
	}
}

// delete holds the API server to the very object that was decided on. It gives
// up when the confirmation has expired, because the client itself retries for
// long where the server asks for it.
func (r *run) delete(ctx context.Context, confirmed guard.Confirmed, d plan.Removal) error {
	left := confirmed.Left(r.Clock.Now())
	if left <= 0 {
		return guard.ErrChanged
	}
	ctx, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	shown := expectation{id: r.Kinds.ID(d.Object), deleted: true}
	r.Attempts.expect(r.req, shown)
	uid, version := d.Object.GetUID(), d.Object.GetResourceVersion()
	err := r.Client.Delete(ctx, d.Object, client.Preconditions{UID: &uid, ResourceVersion: &version})
	if err != nil {
		r.Attempts.met(r.req, shown)
		return err
	}
	r.outcome.Deleted = append(r.outcome.Deleted, d)
	logf.FromContext(ctx).Info("Deleted output", "output", d.Object.GetName(), "reason", d.Reason)
	return nil
}
