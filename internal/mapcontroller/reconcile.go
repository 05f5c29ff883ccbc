// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package mapcontroller

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// longestLook is how long a key may go without a look. A look without anything
// to do makes no request.
const longestLook = 15 * time.Minute

// controller does the work of a MapController.
type controller[P client.Object, S any] struct {
	*MapController[P, S]
	Options

	cache  view
	client client.Client
	create func(context.Context, client.Object) error
	live   client.Reader
	scheme *runtime.Scheme

	kinds        *servedKinds
	fresh        *freshParents[P]
	ledger       *ledger[S]
	expectations *expectations
	pace         *pace
	retries      *retries
	// deletes has its own: a create that fails must not hold up retention.
	deletes *retries
	// deleted remembers the UIDs that we deleted ourselves (release.go).
	deleted *lru.Cache
}

// Options are what a MapController runs with.
type Options struct {
	// Workers is how many keys are looked at at once.
	Workers int
	// StatusInterval is the least time between two status writes of one parent.
	StatusInterval time.Duration
	// DeletesPerSecond is how many outputs are deleted in a second at most, in
	// bursts of as many: what stands behind outputs may suffer from more. Zero:
	// any number.
	DeletesPerSecond float64
	// MaxClockSkew is how far the API server's clock and ours may differ before
	// nothing is deleted.
	MaxClockSkew time.Duration
	// KindsInterval is how often a kind that is not served is looked for.
	KindsInterval time.Duration
	// Namespaces are those that the cache of the manager is confined to; none: all.
	Namespaces []string
	// Clock is the only clock.
	Clock clock.PassiveClock
	// Stores are what the cache of the manager was made with
	// (cache.Options.NewInformer).
	Stores *Stores
}

// observation is what a decision about a key looks at.
type observation struct {
	input    client.Object
	selector labels.Selector
	owned    []client.Object
}

// Reconcile looks at one key. Every return without an error says when to look
// next: an event that came meanwhile has consumed the look that was due.
func (c *controller[P, S]) Reconcile(ctx context.Context, req Request) (reconcile.Result, error) {
	parent, known, err := c.parent(req.Parent)
	if !known || err != nil {
		if err == nil {
			c.forget(req)
		}
		return reconcile.Result{}, err
	}
	selector, err := c.Select(parent)
	if err != nil || parent.GetDeletionTimestamp() != nil {
		// An invalid spec waits for the event that mends it, with a condition
		// to tell (status.go). What a parent that is being deleted owns is the
		// garbage collector's.
		return reconcile.Result{}, nil //nolint:nilerr // retrying mends no spec
	}
	if held := c.expectations.wait(req); held > 0 {
		return reconcile.Result{RequeueAfter: held}, nil
	}

	outputs, err := c.cache.claimable(c.Outputs, parent, req.MapKey)
	if err != nil {
		return reconcile.Result{}, err
	}
	w := &writer[P, S]{controller: c, req: req, parent: parent, log: logf.FromContext(ctx)}
	o := observation{selector: selector, owned: w.take(ctx, c.Tags.claim(parent, outputs))}
	if req.MapKey == "" {
		// No input has this key: it stands for what lost its tag, and was
		// released.
		return c.nextLook(req, time.Time{}, w), nil
	}
	if o.input, err = c.cache.input(c.Inputs, req.Parent.Namespace, req.MapKey); err != nil {
		return reconcile.Result{}, err
	}

	d := c.decide(c.Clock.Now(), parent, req.MapKey, o)
	w.apply(ctx, o, d)
	c.record(req, parent, o, d, w.outcome)
	return c.nextLook(req, d.Next, w), nil
}

// parent returns a parent as the cache has it: it must not be changed.
func (c *controller[P, S]) parent(name types.NamespacedName) (parent P, known bool, err error) {
	o, err := c.cache.parent(c.NewParent(), name)
	if o == nil || err != nil {
		return parent, false, err
	}
	return o.(P), true, nil
}

// forget drops what is remembered of a key whose parent is gone.
func (c *controller[P, S]) forget(req Request) {
	c.retries.forget(req)
	c.deletes.forget(req)
	c.pace.forget(req)
	c.expectations.forget(req)
	c.gone(req.Parent)
}

// decide is pure, but for the functions it is given.
func (c *controller[P, S]) decide(now time.Time, parent P, mapKey string, o observation) Result[S] {
	ask := MapRequest[P]{Now: now, Parent: parent, MapKey: mapKey, Input: o.input, Outputs: o.owned}
	if o.selects(parent) {
		return c.Map(ask)
	}
	if c.Tombstone == nil {
		return Result[S]{}
	}
	d := c.Tombstone(ask)
	d.Outputs = onlyObserved(d.Outputs, o.owned)
	return d
}

// selects tells whether the input is there to be mapped.
func (o observation) selects(parent client.Object) bool {
	return o.matches() && !controlledBy(o.input, parent)
}

func (o observation) matches() bool {
	return o.input != nil && o.selector.Matches(labels.Set(o.input.GetLabels()))
}

// onlyObserved holds a tombstone to what it may do: keep or drop.
func onlyObserved(kept, owned []client.Object) []client.Object {
	have := byID(owned)
	var only []client.Object
	for _, k := range kept {
		if o := have[idOf(k)]; o != nil {
			only = append(only, o)
		}
	}
	return only
}

func (c *controller[P, S]) record(req Request, parent P, o observation, d Result[S], outcome Outcome) {
	note := d.Note
	if c.Record != nil {
		note = c.Record(parent, req.MapKey, note, outcome)
	}
	selected := o.selects(parent)
	if !o.matches() && len(o.owned) == 0 {
		c.ledger.remove(req, parent.GetUID())
		return
	}
	c.ledger.put(req, parent.GetUID(), summary[S]{
		generation: parent.GetGeneration(),
		counts:     c.count(o.input, selected, o.owned),
		note:       note,
	})
}

// nextLook is the earlier of when time alone changes the decision and when to
// try again. A try that failed must not delay what else falls due for the key,
// as an error would, so the delay between tries is kept here.
func (c *controller[P, S]) nextLook(req Request, next time.Time, w *writer[P, S]) reconcile.Result {
	var delay time.Duration
	if err := w.err(); err != nil {
		delay = c.retries.after(c.Clock.Now(), req)
		log := w.logger().WithValues("retryAfter", delay)
		if errors.Is(err, errMoved) {
			log.V(1).Info("looking again", "why", err.Error())
		} else {
			log.Error(err, "some writes failed")
		}
	} else if w.paced == 0 {
		// Deletes that still wait for their turn may fail as they did before.
		c.retries.forget(req)
	}
	if w.paced > 0 && (delay == 0 || w.paced < delay) {
		delay = w.paced
	}
	if !next.IsZero() {
		// At least a millisecond: zero would mean never.
		look := max(next.Sub(c.Clock.Now()), time.Millisecond)
		if delay == 0 || look < delay {
			delay = look
		}
	}
	// The queue's timers stand still while a machine sleeps, and know nothing of
	// a clock that is set forward.
	return reconcile.Result{RequeueAfter: min(delay, longestLook)}
}
