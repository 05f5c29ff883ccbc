// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/snapshots/metrics"
)

// readiness measures how long snapshots take to become ready, from the events of
// the change: no field of a snapshot says when it became ready.
type readiness struct {
	clock   clock.PassiveClock
	metrics *metrics.Metrics
	// lost are the UIDs of snapshots that lost their readiness. One that becomes
	// ready again days later was not slow.
	lost *lru.Cache
}

// maxLost bounds the memory. Few snapshots lose their readiness.
const maxLost = 10_000

func newReadiness(c clock.PassiveClock, m *metrics.Metrics) *readiness {
	return &readiness{clock: c, metrics: m, lost: lru.New(maxLost)}
}

// observed is called for each event of a snapshot.
func (r *readiness) observed(parent types.NamespacedName, before, after client.Object) {
	if before == nil || after == nil {
		return
	}
	was, is := readyToUse(before), readyToUse(after)
	switch {
	case was == is:
	case was:
		r.lost.Add(after.GetUID(), nil)
	case r.wasLost(after.GetUID()):
	default:
		r.metrics.CreationToReady(parent, r.clock.Since(after.GetCreationTimestamp().Time))
	}
}

func (r *readiness) wasLost(uid types.UID) bool {
	_, lost := r.lost.Get(uid)
	return lost
}
