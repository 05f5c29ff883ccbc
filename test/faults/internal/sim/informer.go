// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/history"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/sim/kube"
)

// informer is one informer of an operator: its store, its handlers, and how far its watch has come.
type informer struct {
	operator *operator
	kind     kube.Kind
	store    *index
	handlers handlers
	// delivered counts the kind's changes that have been delivered.
	delivered int
	// scheduled is set while a timer for the next delivery is pending.
	scheduled bool
	// frozenUntil is when deliveries resume.
	frozenUntil time.Time
	// example is an object of the kind, for the product's stores.
	example client.Object
	// relistNext makes the next delivery a new list instead of the missed events.
	relistNext bool
}

// handlers are an informer's event handlers.
type handlers struct {
	onCreate func(o client.Object, initial bool)
	onUpdate func(before, after client.Object)
	onDelete func(o client.Object)
}

// freeze delivers nothing for a while; then the missed events or, half of the time, a new list.
func (i *informer) freeze(d time.Duration) {
	i.frozenUntil = i.operator.sim.now.Add(d)
	i.relistNext = oneIn(i.operator.sim.timingRand, 2)
}

// wake schedules a delivery, unless one is scheduled.
func (i *informer) wake() {
	if i.scheduled {
		return
	}
	i.scheduled = true
	sim := i.operator.sim
	delay := between(sim.timingRand, time.Millisecond, 40*time.Millisecond)
	if wait := i.frozenUntil.Sub(sim.now); wait > delay {
		delay = wait
	}
	sim.after(delay, i.deliver)
}

func (i *informer) deliver() {
	i.scheduled = false
	sim := i.operator.sim
	if !i.operator.alive {
		return
	}
	if sim.now.Before(i.frozenUntil) {
		i.wake()
		return
	}
	if i.relistNext {
		i.relistNext = false
		i.relist()
		return
	}
	pending := len(sim.changes[i.kind]) - i.delivered
	if pending > 1 && oneIn(sim.timingRand, 8) {
		pending = 1 + sim.timingRand.IntN(pending) // the rest is delivered later
	}
	for range pending {
		c := sim.history.Changes[sim.changes[i.kind][i.delivered]]
		i.delivered++
		i.deliverChange(&c)
	}
	if i.delivered < len(sim.changes[i.kind]) {
		i.wake()
	}
}

// deliverChange delivers one watch event. Under a selector an object that no longer matches is deleted, in its last matching version.
func (i *informer) deliverChange(c *history.Change) {
	switch {
	case c.After != nil && i.matches(c.After):
		i.set(c.After, false)
	case c.Before != nil && i.matches(c.Before):
		i.remove(c.Before)
	}
}

func (i *informer) matches(o client.Object) bool {
	if i.kind != kube.Snapshots {
		return true
	}
	_, tagged := o.GetLabels()[v1alpha1.LabelMapKey]
	return tagged
}

func (i *informer) set(o client.Object, initial bool) {
	o = i.operator.transform(i.kind, o)
	before := i.store.set(keyOf(o), o)
	if before == nil {
		i.handlers.onCreate(o, initial)
		return
	}
	i.handlers.onUpdate(before.(client.Object), o)
}

func (i *informer) remove(o client.Object) {
	if i.store.set(keyOf(o), nil) != nil {
		i.handlers.onDelete(i.operator.transform(i.kind, o))
	}
}

// relist replaces the missed events by a list: only the difference is delivered, and a deleted object in its last known version.
func (i *informer) relist() {
	sim := i.operator.sim
	i.delivered = len(sim.changes[i.kind])
	listed := map[string]bool{}
	for _, o := range sim.server.List(i.kind) {
		if !i.matches(o) {
			continue
		}
		listed[keyOf(o)] = true
		known, _, _ := i.store.GetByKey(keyOf(o))
		if known == nil || known.(client.Object).GetResourceVersion() != o.GetResourceVersion() {
			i.set(o, false)
		}
	}
	for _, o := range i.store.List() {
		if key := keyOf(o.(client.Object)); !listed[key] {
			i.store.set(key, nil)
			i.handlers.onDelete(o.(client.Object))
		}
	}
	i.operator.stores.Listed(i.example, nil)
}

// fill stores the initial list, as an API server returns it that is some changes of the kind behind.
func (i *informer) fill(behind int) []client.Object {
	sim := i.operator.sim
	i.delivered = max(0, len(sim.changes[i.kind])-behind)
	then := map[string]client.Object{}
	var order []string
	put := func(o client.Object) {
		if _, known := then[keyOf(o)]; !known {
			order = append(order, keyOf(o))
		}
		then[keyOf(o)] = o
	}
	for _, o := range sim.server.List(i.kind) {
		put(o)
	}
	for n := len(sim.changes[i.kind]) - 1; n >= i.delivered; n-- { // undo
		c := &sim.history.Changes[sim.changes[i.kind][n]]
		if c.Before != nil {
			put(c.Before)
		} else {
			then[keyOf(c.After)] = nil
		}
	}
	var all []client.Object
	for _, key := range order {
		if o := then[key]; o != nil && i.matches(o) {
			o = i.operator.transform(i.kind, o)
			i.store.set(key, o)
			all = append(all, o)
		}
	}
	return all
}

func keyOf(o client.Object) string { return o.GetNamespace() + "/" + o.GetName() }
