// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"runtime"
	"testing"
)

// 1.2 kB of heap is promised for each further snapshot of a PVC that has some; it
// was 796 bytes when this was written.
const mostBytesPerSnapshot = 900

func TestMemoryOfASnapshot(t *testing.T) {
	const claims, each = 200, 40
	held := newPopulation()
	s := every("1h")
	grow := func(from, to int) {
		for i := range claims {
			held.addSnapshots(t, s, i, from, to)
		}
	}
	grow(0, 1)
	before := liveHeap()
	grow(1, 1+each)
	perSnapshot := (liveHeap() - before) / (claims * each)
	runtime.KeepAlive(held)
	t.Logf("%d bytes for each further snapshot", perSnapshot)
	if perSnapshot > mostBytesPerSnapshot {
		t.Errorf("%d bytes for each further snapshot, want at most %d", perSnapshot, mostBytesPerSnapshot)
	}
}
