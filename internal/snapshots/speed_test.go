// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
)

const snapshotsEach = 40

// maxAllocations is for a pass over a key with that many snapshots; 26 were
// measured, and 27 with the race detector.
const maxAllocations = 27

// hourly has a schedule that takes a snapshot of every PVC each hour and keeps
// it for years: nothing is due, and nothing expires.
func hourly(tb testing.TB, claims int) (*population, []mapcontroller.Request) {
	tb.Helper()
	p, s := newPopulation(tb), every("1h").ttl("10y")
	must(tb, p.schedules.Add(s.SnapshotSchedule))
	p.addClaims(tb, s, claims, snapshotsEach)
	return p, p.track()
}

// reconciled is the last population of a benchmark, each key of which was
// reconciled: building a million snapshots takes a minute, and benchmarks are
// repeated.
var reconciled struct {
	*population
	requests []mapcontroller.Request
}

func BenchmarkReconcileKey(b *testing.B) {
	for _, total := range []int{1_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprintf("snapshots=%d", total), func(b *testing.B) {
			if len(reconciled.requests) != total/snapshotsEach {
				reconciled.population, reconciled.requests = hourly(b, total/snapshotsEach)
				for _, req := range reconciled.requests {
					reconciled.reconcile(b, req)
				}
			}
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				// Far apart, as keys that fall due are.
				i = (i + 7919) % len(reconciled.requests)
				reconciled.reconcile(b, reconciled.requests[i])
			}
		})
	}
}

// BenchmarkRouteClaim is the event of a PVC in a namespace with so many
// schedules, none of which selects it.
func BenchmarkRouteClaim(b *testing.B) {
	for _, schedules := range []int{1, 100, 1000} {
		b.Run(fmt.Sprintf("schedules=%d", schedules), func(b *testing.B) {
			p := newPopulation(b)
			for i := range schedules {
				s := every("1h").named(fmt.Sprintf("backup-%d", i)).selecting(fmt.Sprintf("app-%d", i))
				s.UID = types.UID(fmt.Sprintf("schedule-uid-%d", i))
				must(b, p.schedules.Add(s.SnapshotSchedule))
			}
			p.track()
			queue := newQueue()
			defer queue.ShutDown()
			c := nthClaim(1)
			c.Labels = map[string]string{"app": "none"}
			e := event.TypedCreateEvent[client.Object]{Object: c.PersistentVolumeClaim}
			handler := p.Watches()[1].Events
			b.ReportAllocs()
			for b.Loop() {
				handler.Create(context.Background(), e, queue)
			}
			if queue.Len() > 0 {
				b.Error("a key was enqueued")
			}
		})
	}
}

func TestCostOfAKeyDoesNotGrowWithTheNamespace(t *testing.T) {
	fewAllocs, fewBytes := costOfAPass(t, 10)
	manyAllocs, manyBytes := costOfAPass(t, 200)
	t.Logf("%v allocations of %d bytes with 10 PVCs, %v of %d with 200", fewAllocs, fewBytes, manyAllocs, manyBytes)
	if manyAllocs > fewAllocs || manyBytes > fewBytes+fewBytes/10 {
		t.Errorf("a pass allocates %v times, %d bytes with 200 PVCs; %v times, %d bytes with 10",
			manyAllocs, manyBytes, fewAllocs, fewBytes)
	}
	if fewAllocs > maxAllocations {
		t.Errorf("a pass over a key with %d snapshots allocates %v times, want at most %v", snapshotsEach, fewAllocs, maxAllocations)
	}
}

func costOfAPass(t *testing.T, claims int) (allocs float64, bytes uint64) {
	t.Helper()
	const runs = 1000
	p, requests := hourly(t, claims)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	allocs = testing.AllocsPerRun(runs, func() { p.reconcile(t, requests[claims/2]) })
	runtime.ReadMemStats(&after)
	return allocs, (after.TotalAlloc - before.TotalAlloc) / (runs + 1)
}
