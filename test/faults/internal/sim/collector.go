// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/history"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/sim/kube"
)

// garbageCollector checks objects some time after it had a reason to. What it does with them is package kube's part.
type garbageCollector struct {
	sim *simulation
	// pending are the objects to check.
	pending map[types.UID]bool
}

func (g *garbageCollector) observe(k kube.Kind, c history.Change) {
	switch {
	case k == kube.Schedules && c.After == nil:
		for _, o := range g.sim.server.List(kube.Snapshots) {
			g.checkDependent(o)
		}
	case k == kube.Schedules && c.After.GetDeletionTimestamp() != nil:
		g.checkOwner(c.After)
	case k == kube.Snapshots && c.After != nil:
		g.checkDependent(c.After)
	}
}

// checkDependent schedules the check of a snapshot whose owner is absent.
func (g *garbageCollector) checkDependent(o client.Object) {
	absent := func(ref metav1.OwnerReference) bool { return !g.sim.server.Exists(ref.UID) }
	if o.GetDeletionTimestamp() == nil && slices.ContainsFunc(o.GetOwnerReferences(), absent) {
		key := client.ObjectKeyFromObject(o)
		g.later(o.GetUID(), func() { g.sim.server.CollectDependent(kube.Snapshots, key) })
	}
}

// checkOwner schedules the check of a schedule that is being deleted with a finalizer of the garbage collector.
func (g *garbageCollector) checkOwner(o client.Object) {
	isOurs := func(f string) bool { return f == kube.FinalizerOrphan || f == kube.FinalizerForeground }
	if !slices.ContainsFunc(o.GetFinalizers(), isOurs) {
		return
	}
	key := client.ObjectKeyFromObject(o)
	g.later(o.GetUID(), func() {
		if g.sim.server.CollectOwner(kube.Schedules, key) {
			g.checkOwner(o)
		}
	})
}

func (g *garbageCollector) later(uid types.UID, check func()) {
	if g.pending[uid] {
		return
	}
	g.pending[uid] = true
	g.sim.after(between(g.sim.timingRand, 100*time.Millisecond, 40*time.Second), func() {
		delete(g.pending, uid)
		check()
	})
}
