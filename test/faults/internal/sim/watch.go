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

// watch is one informer of an operator: its store and how far it has come.
type watch struct {
	operator *operator
	kind     kube.Kind
	store    *index
	handlers handlers
	// told is how many of the kind's changes it has been told of.
	told int
	// news is when it was last told something.
	news time.Time
	// stirred: it is about to be told more.
	stirred bool
	// frozen is until when it is told nothing.
	frozen time.Time
	// broken: what it missed while it was frozen it is told by a new list.
	broken bool
}

// handlers are whom an informer tells.
type handlers struct {
	created func(o client.Object, initial bool)
	updated func(before, after client.Object)
	deleted func(o client.Object)
}

// freeze has the watch told nothing for a while; then, perhaps, by a new list.
func (t *watch) freeze(d time.Duration) {
	t.frozen = t.operator.world.now.Add(d)
	t.broken = oneIn(t.operator.world.luck, 2)
}

// stir has the watch told of what is new, a little later.
func (t *watch) stir() {
	if t.stirred {
		return
	}
	t.stirred = true
	w := t.operator.world
	delay := between(w.luck, time.Millisecond, 40*time.Millisecond)
	if wait := t.frozen.Sub(w.now); wait > delay {
		delay = wait
	}
	w.after(delay, t.tell)
}

func (t *watch) tell() {
	t.stirred = false
	w := t.operator.world
	if !t.operator.alive {
		return
	}
	if w.now.Before(t.frozen) {
		t.stir()
		return
	}
	if t.broken {
		t.broken = false
		t.relist()
		return
	}
	news := len(w.changes[t.kind]) - t.told
	if news > 1 && oneIn(w.luck, 8) {
		news = 1 + w.luck.IntN(news) // the rest comes later
	}
	for range news {
		c := w.history.Changes[w.changes[t.kind][t.told]]
		t.told++
		t.news = w.now
		t.tellChange(&c)
	}
	if t.told < len(w.changes[t.kind]) {
		t.stir()
	}
}

// tellChange is one watch event. To a watch with a selector, what no longer
// matches is deleted, and is shown as it was when it last did.
func (t *watch) tellChange(c *history.Change) {
	switch {
	case c.After != nil && t.sees(c.After):
		t.show(c.After, false)
	case c.Before != nil && t.sees(c.Before):
		t.hide(c.Before)
	}
}

func (t *watch) sees(o client.Object) bool {
	if t.kind != kube.Snapshots {
		return true
	}
	_, tagged := o.GetLabels()[v1alpha1.LabelMapKey]
	return tagged
}

func (t *watch) show(o client.Object, initial bool) {
	o = t.operator.strip(t.kind, o)
	before := t.store.set(keyOf(o), o)
	if before == nil {
		t.handlers.created(o, initial)
		return
	}
	t.handlers.updated(before.(client.Object), o)
}

func (t *watch) hide(o client.Object) {
	if t.store.set(keyOf(o), nil) != nil {
		t.handlers.deleted(t.operator.strip(t.kind, o))
	}
}

// relist is how a watch goes on whose connection broke: what happened in between
// shows in the difference alone, and what is gone is shown as it was last known.
func (t *watch) relist() {
	w := t.operator.world
	t.told, t.news = len(w.changes[t.kind]), w.now
	there := map[string]bool{}
	for _, o := range w.server.List(t.kind) {
		if !t.sees(o) {
			continue
		}
		there[keyOf(o)] = true
		known, _, _ := t.store.GetByKey(keyOf(o))
		if known == nil || known.(client.Object).GetResourceVersion() != o.GetResourceVersion() {
			t.show(o, false)
		}
	}
	for _, o := range t.store.List() {
		if key := keyOf(o.(client.Object)); !there[key] {
			t.store.set(key, nil)
			t.handlers.deleted(o.(client.Object))
		}
	}
}

// fill is the first list: the state that the server had when it had made so many
// changes of the kind. An API server that is behind shows an old one.
func (t *watch) fill(behind int) []client.Object {
	w := t.operator.world
	t.told = max(0, len(w.changes[t.kind])-behind)
	then := map[string]client.Object{}
	var order []string
	put := func(o client.Object) {
		if _, known := then[keyOf(o)]; !known {
			order = append(order, keyOf(o))
		}
		then[keyOf(o)] = o
	}
	for _, o := range w.server.List(t.kind) {
		put(o)
	}
	for i := len(w.changes[t.kind]) - 1; i >= t.told; i-- { // undo
		c := &w.history.Changes[w.changes[t.kind][i]]
		if c.Before != nil {
			put(c.Before)
		} else {
			then[keyOf(c.After)] = nil
		}
	}
	var all []client.Object
	for _, key := range order {
		if o := then[key]; o != nil && t.sees(o) {
			o = t.operator.strip(t.kind, o)
			t.store.set(key, o)
			all = append(all, o)
		}
	}
	return all
}

func keyOf(o client.Object) string { return o.GetNamespace() + "/" + o.GetName() }
