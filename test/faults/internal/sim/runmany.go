// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"context"
	"runtime"
	"sync"
	"time"
)

// Progress is reported after each of many simulations.
type Progress struct {
	Done, Total, Failed int
	// Known counts the known breaches.
	Known int
	Took  time.Duration
	// Last is the simulation that has just ended.
	Last *Result
}

// RunMany simulates n seeds, from the first on, as many at once as there are processors, and returns those that broke a guarantee, by
// seed. It calls progress, unless nil, from one goroutine at a time. When the context ends it starts no more.
func RunMany(ctx context.Context, first uint64, n int, progress func(Progress)) []Result {
	var (
		mu        sync.Mutex
		failed    = map[uint64]Result{}
		p         = Progress{Total: n}
		startedAt = time.Now()
		seeds     = make(chan uint64)
		workers   sync.WaitGroup
	)
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for seed := range seeds {
				r := Run(seed)
				mu.Lock()
				if len(r.Violations) > 0 {
					failed[seed] = r
				}
				p.Done++
				p.Known += len(r.Known)
				p.Failed, p.Took, p.Last = len(failed), time.Since(startedAt), &r
				if progress != nil {
					progress(p)
				}
				mu.Unlock()
			}
		})
	}
	for seed := first; seed < first+uint64(n) && ctx.Err() == nil; seed++ {
		seeds <- seed
	}
	close(seeds)
	workers.Wait()
	var results []Result
	for seed := first; seed < first+uint64(n); seed++ {
		if r, ok := failed[seed]; ok {
			results = append(results, r)
		}
	}
	return results
}
