// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// readiness measures how long snapshots take to become ready, from the events of
// the change: no field of a snapshot says when it became ready.
type readiness struct {
	clock clock.PassiveClock
	// lost are the UIDs of snapshots that lost their readiness. One that becomes
	// ready again days later was not slow.
	lost *lru.Cache
}

// maxLost bounds the memory. Few snapshots lose their readiness.
const maxLost = 10_000

func newReadiness(c clock.PassiveClock) *readiness {
	return &readiness{clock: c, lost: lru.New(maxLost)}
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
		took := r.clock.Since(after.GetCreationTimestamp().Time)
		observeWait(creationToReady, took, parent.Namespace, parent.Name)
	}
}

func (r *readiness) wasLost(uid types.UID) bool {
	_, lost := r.lost.Get(uid)
	return lost
}

func readyToUse(o client.Object) bool {
	status := o.(*snapshotv1.VolumeSnapshot).Status
	return status != nil && ptr.Deref(status.ReadyToUse, false)
}
