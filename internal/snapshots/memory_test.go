// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"runtime"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

const (
	// maxBytesPerSnapshot is for each further snapshot of a PVC. 1.2 kB are
	// promised; 742 were measured.
	maxBytesPerSnapshot = 780
	// maxBytesPerKey is for a schedule and a PVC without snapshots, beyond the
	// store's objects and indexes; 354 were measured.
	maxBytesPerKey = 400
)

func TestMemoryOfASnapshot(t *testing.T) {
	const claims, each = 200, 40
	p, s := newPopulation(t), every("1h")
	grow := func(from, to int) {
		for i := range claims {
			p.addSnapshots(t, s, nthClaim(i), from, to)
		}
	}
	grow(0, 1)
	before := liveHeap()
	grow(1, 1+each)
	got := (liveHeap() - before) / (claims * each)
	runtime.KeepAlive(p)
	t.Logf("%d bytes for each further snapshot", got)
	if got > maxBytesPerSnapshot {
		t.Errorf("%d bytes for each further snapshot, want at most %d", got, maxBytesPerSnapshot)
	}
}

func TestMemoryOfAKeyWithoutSnapshots(t *testing.T) {
	const claims = 50_000
	p := newPopulation(t)
	must(t, p.schedules.Add(cron("30 2 * * *", "").SnapshotSchedule))
	for i := range claims {
		c := nthClaim(i).created(ago(time.Hour)) // before its first slot
		must(t, p.claims.Add(transformed(t, stripClaim, c.PersistentVolumeClaim, &corev1.PersistentVolumeClaim{})))
	}
	before := liveHeap()
	requests := p.track()
	for _, req := range requests {
		p.reconcile(t, req)
	}
	if len(requests) != claims {
		t.Fatalf("%d keys, want %d", len(requests), claims)
	}
	got := (liveHeap() - before) / claims
	runtime.KeepAlive(p)
	t.Logf("%d bytes for each key", got)
	if got > maxBytesPerKey {
		t.Errorf("%d bytes for each key, want at most %d", got, maxBytesPerKey)
	}
}
