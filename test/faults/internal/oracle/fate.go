// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// MayDelete says whether the contract allows a snapshot to be deleted where there
// are these objects, and why or why not.
func MayDelete(objects []client.Object, doomed *snapshotv1.VolumeSnapshot, now time.Time) (bool, string) {
	w := newWorld()
	for _, o := range objects {
		w.put(o)
	}
	v := w.view(seriesOf(doomed))
	v.holdTo(doomed)
	return v.mayDelete(doomed, now)
}

// Left are the names of the ready snapshots that should have gone by now, by
// every reading of the contract.
func Left(objects []client.Object, now time.Time) []string {
	w := newWorld()
	for _, o := range objects {
		w.put(o)
	}
	var names []string
	for id := range w.series {
		v := w.view(id)
		if v.schedule == nil || v.schedule.DeletionTimestamp != nil {
			continue
		}
		t, err := readTerms(&v.schedule.Spec)
		if err != nil {
			continue
		}
		q := question{view: v, terms: t, now: now, sorted: newestFirst(v.series, now)}
		for _, s := range v.series {
			if q.surelyGoes(s.Name) {
				names = append(names, s.Name)
			}
		}
	}
	return names
}

// Slot is the slot that a snapshot tells; zero if it tells none.
func Slot(s *snapshotv1.VolumeSnapshot) time.Time {
	id, ok := slotIDOf(s)
	if !ok {
		return time.Time{}
	}
	return time.Unix(id.slot, 0)
}
