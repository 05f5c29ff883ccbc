// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"maps"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/informer"
	"mapcontroller.dev/snapshotschedule/internal/snapshots/metrics"
)

// deletes counts the snapshots that retention deleted, when they are gone: a delete that the API
// server accepted may never end. What a restart forgets is not counted.
type deletes struct {
	stores  *informer.Stores
	metrics *metrics.Metrics

	mu       sync.Mutex
	accepted map[types.UID]acceptedDelete
}

// acceptedDelete is a delete that the API server accepted.
type acceptedDelete struct {
	schedule types.NamespacedName
	reason   string
	retained bool
}

func newDeletes(stores *informer.Stores, m *metrics.Metrics) *deletes {
	return &deletes{stores: stores, metrics: m, accepted: map[types.UID]acceptedDelete{}}
}

// accept remembers a delete. The event that shows that the snapshot is gone may have come before.
func (d *deletes) accept(o client.Object, a acceptedDelete) {
	d.mu.Lock()
	d.accepted[o.GetUID()] = a
	d.mu.Unlock()
	d.gone(o)
}

// observed is called for each event of a snapshot, after the cache shows it.
func (d *deletes) observed(before, after client.Object) {
	if before != nil && (after == nil || after.GetUID() != before.GetUID()) {
		d.gone(before)
	}
}

// gone counts a deleted snapshot once, unless the cache has it: one that was released has no event of its own.
func (d *deletes) gone(o client.Object) {
	if have := d.stores.Get(o, client.ObjectKeyFromObject(o)); have != nil && have.GetUID() == o.GetUID() {
		return
	}
	d.mu.Lock()
	a, accepted := d.accepted[o.GetUID()]
	delete(d.accepted, o.GetUID())
	d.mu.Unlock()
	if !accepted {
		return
	}
	d.metrics.Deleted(a.schedule, a.reason)
	if a.retained {
		d.metrics.Retained(a.schedule)
	}
}

// forget drops the deletes of a schedule that is deleted.
func (d *deletes) forget(schedule types.NamespacedName) {
	d.mu.Lock()
	defer d.mu.Unlock()
	maps.DeleteFunc(d.accepted, func(_ types.UID, a acceptedDelete) bool { return a.schedule == schedule })
}
