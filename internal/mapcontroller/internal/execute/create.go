// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/guard"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/plan"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/queue"
)

// RequestTimeout is longer than the API server takes for a write at most, admission included
// (34 s), so that only a write whose response never comes ends by it.
const RequestTimeout = 40 * time.Second

// readTimeout is for the reads that find out about a write whose response was lost.
const readTimeout = 5 * time.Second

func (r *run) create(ctx context.Context, want client.Object) {
	write := queue.Expectation{ID: r.executor.Kinds.ID(want)}
	r.executor.Attempts.Expect(r.work.Request, write)
	creating, cancel := context.WithTimeout(ctx, RequestTimeout)
	defer cancel()
	err := r.executor.Client.Create(creating, want)
	created, known := r.becameOf(ctx, want, err)
	if created {
		r.outcome.Created = append(r.outcome.Created, want)
		logf.FromContext(ctx).V(1).Info("Created output", "output", want.GetName())
		return
	}
	r.executor.Attempts.Seen(r.work.Request, write)
	switch {
	case apierrors.IsAlreadyExists(err):
		if err = r.alreadyExists(ctx, want); err == nil {
			// After a crash, or with a second manager, once. Again and again: the cache is restricted to another label.
			logf.FromContext(ctx).Info("Output exists and is not in the cache", "output", want.GetName())
		}
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		// Everything in the namespace is being deleted, which is no problem to report. It
		// is tried again: for a moment the API server says so about a namespace that was
		// created again.
		err = guard.ErrChanged
	case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		r.executor.KindMissing()
	}
	if r.result(ctx, VerbCreate, want, err) == nil || !known || errors.Is(err, errUnread) {
		r.outcome.Unanswered = append(r.outcome.Unanswered, want)
	}
}

// becameOf returns whether a create made the output, and whether that is known. One that failed, by a timeout or an error
// of the server, may have made it all the same: unless a read says that it did not, the next create of its limit has to
// wait until the cache has had time to show it.
func (r *run) becameOf(ctx context.Context, want client.Object, err error) (created, known bool) {
	if err == nil || refused(err) || ctx.Err() != nil {
		return err == nil, true // what ends with the manager has no next create
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	found := r.alreadyExists(ctx, want)
	return found == nil, !errors.Is(found, errUnread)
}

// errUnread is why it is not known what has a name.
var errUnread = errors.New("cannot read what has the name")

// alreadyExists explains an AlreadyExists: a crash after the create committed, a
// cache that lags, a second manager, or someone else's object. It is success only
// if the existing object does the work of the desired one.
func (r *run) alreadyExists(ctx context.Context, want client.Object) error {
	have := plan.EmptyLike(want)
	err := r.executor.Guard.Live.Get(ctx, client.ObjectKeyFromObject(want), have)
	if apierrors.IsNotFound(err) {
		return guard.ErrChanged
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errUnread, err)
	}
	kinds := r.executor.Kinds
	key, kind, is := kinds.Ownership.MapKey(have), kinds.Output(want), kinds.Ownership.Relation(r.work.Parent, have)
	switch {
	case is.Release && !is.Owned, // it is about to be released
		is.Owned && key == r.work.Request.MapKey && have.GetDeletionTimestamp() != nil: // its name is free once it is gone
		return guard.ErrChanged
	case is.Owned && key == r.work.Request.MapKey && kind.Update == nil:
		return kind.Meets(want, have)
	case is.Owned && key == r.work.Request.MapKey, // the cache will show it, and then it is updated
		r.executor.Kinds.Ownership.Ownerless(have) && kind.Covers != nil && kind.Covers(want, have):
		return nil
	}
	return &plan.CollisionError{Existing: have, Owned: is.Owned}
}
