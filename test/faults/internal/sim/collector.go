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

// collector is the garbage collector: it looks some time after it had reason to.
type collector struct {
	world *world
	// looking are the objects that it is going to look at.
	looking map[types.UID]bool
}

func (g *collector) saw(k kube.Kind, c history.Change) {
	switch {
	case k == kube.Schedules && c.After == nil:
		for _, o := range g.world.server.List(kube.Snapshots) {
			g.dangling(o)
		}
	case k == kube.Schedules && c.After.GetDeletionTimestamp() != nil:
		g.owner(c.After)
	case k == kube.Snapshots && c.After != nil:
		g.dangling(c.After)
	}
}

// dangling looks later at a snapshot that has an owner which is gone.
func (g *collector) dangling(o client.Object) {
	absent := func(ref metav1.OwnerReference) bool { return !g.world.server.Exists(ref.UID) }
	if o.GetDeletionTimestamp() == nil && slices.ContainsFunc(o.GetOwnerReferences(), absent) {
		key := client.ObjectKeyFromObject(o)
		g.later(o.GetUID(), func() { g.world.server.CollectDependent(kube.Snapshots, key) })
	}
}

func (g *collector) owner(o client.Object) {
	ours := func(f string) bool { return f == kube.FinalizerOrphan || f == kube.FinalizerForeground }
	if !slices.ContainsFunc(o.GetFinalizers(), ours) {
		return
	}
	key := client.ObjectKeyFromObject(o)
	g.later(o.GetUID(), func() {
		if g.world.server.CollectOwner(kube.Schedules, key) {
			g.owner(o)
		}
	})
}

func (g *collector) later(uid types.UID, look func()) {
	if g.looking[uid] {
		return
	}
	g.looking[uid] = true
	g.world.after(between(g.world.luck, 100*time.Millisecond, 40*time.Second), func() {
		delete(g.looking, uid)
		look()
	})
}
