// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package mapcontroller

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// ErrNameCollision says that an output's name is taken by an object that is not
// the parent's output for this key.
var ErrNameCollision = errors.New("the name is taken")

// ErrAdoptionRefused says that an orphan was left alone because the parent is
// not, on the API server, what the cache says it is.
var ErrAdoptionRefused = errors.New("adoption refused")

// errTerminating says that the output exists and is on its way out: the same
// name can be created again once it is gone.
var errTerminating = errors.New("an output of this name is still being deleted")

// errReleasing says that the output has lost its map key and is about to be
// released (release.go).
var errReleasing = errors.New("an output of this name is being released")

// writer does the writes of one pass over one key. No other code writes
// outputs. One write that fails stops no other.
type writer[P client.Object, S any] struct {
	*controller[P, S]
	req     Request
	parent  P
	log     logr.Logger
	outcome Outcome
	// again is why the key should be looked at again although nothing failed.
	again error
	// paced is how long deletes have to wait for their turn.
	paced time.Duration
}

// logger names the key. Most passes log nothing, and need no such logger.
func (w *writer[P, S]) logger() logr.Logger {
	return w.log.WithValues("namespace", w.req.Parent.Namespace, "name", w.req.Parent.Name, "mapKey", w.req.MapKey)
}

// failed takes note of a write that failed. One that came too late, for the
// object changed or went, is no failure: the cache will tell.
func (w *writer[P, S]) failed(verb string, o client.Object, err error) {
	if errors.Is(err, errMoved) || apierrors.IsConflict(err) {
		w.again = errMoved
		return
	}
	w.outcome.Failed = append(w.outcome.Failed, Failure{Verb: verb, Object: o, Err: err})
}

func (w *writer[P, S]) err() error {
	errs := []error{w.again, w.outcome.Paused}
	for _, f := range w.outcome.Failed {
		errs = append(errs, fmt.Errorf("%s %s: %w", f.Verb, f.Object.GetName(), f.Err))
	}
	return errors.Join(errs...)
}

// take adopts and releases, and returns what is owned then.
func (w *writer[P, S]) take(ctx context.Context, c claims) []client.Object {
	for _, o := range c.release {
		if err := w.disown(ctx, o, w.parent.GetUID()); err != nil && !apierrors.IsNotFound(err) {
			w.failed("release", o, err)
		}
	}
	return append(c.owned, w.adoptAll(ctx, c.adopt)...)
}

// adoptAll asks before every adoption whether the parent may have it, and once
// more at the end: what is given to a parent that went meanwhile would go to the
// garbage collector.
func (w *writer[P, S]) adoptAll(ctx context.Context, orphans []client.Object) []client.Object {
	var adopted []client.Object
	for _, o := range orphans {
		err := w.mayAdopt(ctx)
		if err == nil {
			var mine client.Object
			if mine, err = w.adopt(ctx, o); err == nil {
				adopted = append(adopted, mine)
			}
		}
		if err != nil && !apierrors.IsNotFound(err) {
			w.failed("adopt", o, err)
		}
	}
	if len(adopted) == 0 {
		return nil
	}
	if err := w.mayAdopt(ctx); errors.Is(err, ErrAdoptionRefused) {
		for _, o := range adopted {
			w.failed("adopt", o, errors.Join(err, client.IgnoreNotFound(w.disown(ctx, o, w.parent.GetUID()))))
		}
		return nil
	}
	return adopted
}

// mayAdopt asks the API server, not the cache: else a parent that has just been
// deleted with orphaned outputs would take them back.
func (w *writer[P, S]) mayAdopt(ctx context.Context) error {
	live := w.NewParent()
	err := w.live.Get(ctx, w.req.Parent, live)
	switch {
	case client.IgnoreNotFound(err) != nil:
		return err
	case err != nil, live.GetUID() != w.parent.GetUID():
		return fmt.Errorf("%w: the owner is gone", ErrAdoptionRefused)
	case live.GetDeletionTimestamp() != nil:
		return fmt.Errorf("%w: the owner is being deleted", ErrAdoptionRefused)
	}
	return nil
}

func (w *writer[P, S]) adopt(ctx context.Context, o client.Object) (client.Object, error) {
	adopted := o.DeepCopyObject().(client.Object)
	if err := controllerutil.SetControllerReference(w.parent, adopted, w.scheme); err != nil {
		return nil, err
	}
	return adopted, w.patchOwners(ctx, o, adopted)
}

// apply makes the observed outputs the desired ones. Creates come first: a new
// output waits for nothing.
func (w *writer[P, S]) apply(ctx context.Context, o observation, d Result[S]) {
	p := diff(o.owned, d.Outputs)
	for _, want := range p.create {
		switch err := w.create(ctx, want); {
		case errors.Is(err, errTerminating), errors.Is(err, errReleasing):
			w.again = err
		case err != nil:
			w.failed("create", want, err)
		}
	}
	for _, want := range p.update {
		if err := w.update(ctx, byID(o.owned)[idOf(want)], want); err != nil {
			w.failed("update", want, err)
		}
	}
	if len(p.delete) == 0 {
		return
	}
	now := w.Clock.Now()
	if wait := w.deletes.wait(now, w.req); wait > 0 {
		// The last deletes failed. An event that comes before the next try is no
		// reason to take the turn of deletes that may succeed.
		w.paced, w.outcome.Waiting = wait, true
		return
	}
	n, wait := w.pace.grant(now, w.req, len(p.delete))
	w.outcome.Waiting = n == 0
	if n > 0 {
		w.deleteConfirmed(ctx, o, d, p.delete[:n])
		if len(w.outcome.Deleted) == 0 {
			// The others would fail as well: they wait for the next try.
			w.deletes.after(now, w.req)
			return
		}
		w.deletes.forget(w.req)
	}
	if n < len(p.delete) {
		w.paced = max(wait, time.Millisecond)
	}
}

func (w *writer[P, S]) deleteConfirmed(ctx context.Context, o observation, d Result[S], doomed []client.Object) {
	until, err := w.confirm(ctx, w.req, w.parent, o, d, doomed)
	switch {
	case errors.Is(err, errMoved):
		w.again = err
		return
	case errors.Is(err, ErrClockSkew):
		w.outcome.Paused = err
		return
	case err != nil:
		w.again = fmt.Errorf("before a delete: %w", err)
		return
	}
	for _, o := range doomed {
		left := until.Sub(w.Clock.Now())
		if left <= 0 {
			w.again = errMoved
			return
		}
		why := ""
		if d.Why != nil {
			why = d.Why(o)
		}
		w.deleteWithin(ctx, left, o, why)
	}
}

func (w *writer[P, S]) create(ctx context.Context, want client.Object) error {
	want = w.tagged(want)
	if w.outputKind(want).UpdateInPlace {
		if err := stamp(want); err != nil {
			return err
		}
	}
	if err := controllerutil.SetControllerReference(w.parent, want, w.scheme); err != nil {
		return err
	}

	shown := expectation{id: idOf(want)}
	w.expectations.expect(w.req, shown)
	err := w.controller.create(ctx, want)
	if err == nil {
		w.outcome.Created = append(w.outcome.Created, want)
		if w.log.V(1).Enabled() {
			w.logger().V(1).Info("created", "output", want.GetName())
		}
		return nil
	}
	w.expectations.met(w.req, shown)
	switch {
	case apierrors.IsAlreadyExists(err):
		return w.alreadyExists(ctx, want)
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		// All of it goes, and nobody need be told. It is tried again all the same:
		// the API server says so for a moment of a namespace that was made anew.
		return errMoved
	case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		w.kinds.suspectMissing()
	}
	return err
}

// tagged returns a desired output as it is written. It is a copy: what Map
// returns may share maps and pointers with the cache.
func (w *writer[P, S]) tagged(want client.Object) client.Object {
	want = want.DeepCopyObject().(client.Object)
	want.SetNamespace(w.parent.GetNamespace())
	labels := want.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[w.Tags.MapKey] = w.req.MapKey
	labels[w.Tags.Parent] = w.parent.GetName()
	want.SetLabels(labels)
	return want
}

// alreadyExists is how a crash after a create, a late cache and a second manager
// look. It is success only if the object is what the create would have made.
func (w *writer[P, S]) alreadyExists(ctx context.Context, want client.Object) error {
	have := emptyLike(want)
	err := w.live.Get(ctx, client.ObjectKeyFromObject(want), have)
	if apierrors.IsNotFound(err) {
		return errMoved
	}
	if err != nil {
		return err
	}
	ref := metav1.GetControllerOfNoCopy(have)
	owned := ref != nil && ref.UID == w.parent.GetUID()
	key := have.GetLabels()[w.Tags.MapKey]
	kind := w.outputKind(want)
	switch {
	case owned && key == "":
		return errReleasing
	case owned && key == w.req.MapKey && have.GetDeletionTimestamp() != nil:
		return errTerminating
	case owned && key == w.req.MapKey:
		return nil
	case ref == nil && kind.Served != nil && kind.Served(want, have):
		return nil
	}
	return fmt.Errorf("%w: %s", ErrNameCollision, want.GetName())
}

// deleteWithin gives up when the evidence is too old: the client itself tries
// again for a long time where the server asks for it.
func (w *writer[P, S]) deleteWithin(ctx context.Context, left time.Duration, doomed client.Object, why string) {
	ctx, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	w.delete(ctx, doomed, why)
}

// delete holds the API server to the very object that was decided on.
func (w *writer[P, S]) delete(ctx context.Context, doomed client.Object, why string) {
	gone := expectation{id: idOf(doomed), gone: true}
	w.expectations.expect(w.req, gone)
	w.deleted.Add(doomed.GetUID(), nil)
	uid, version := doomed.GetUID(), doomed.GetResourceVersion()
	err := w.client.Delete(ctx, doomed, client.Preconditions{UID: &uid, ResourceVersion: &version})
	if err == nil {
		w.outcome.Deleted = append(w.outcome.Deleted, Deletion{Object: doomed, Why: why})
		w.logger().Info("deleted", "output", doomed.GetName(), "why", why)
		return
	}
	w.expectations.met(w.req, gone)
	w.deleted.Remove(doomed.GetUID())
	if !apierrors.IsNotFound(err) {
		w.failed("delete", doomed, err)
	}
}
