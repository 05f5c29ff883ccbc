// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"context"
	"runtime"
	"sync"
	"time"
)

// Progress is how far many runs have come.
type Progress struct {
	Done, Total, Failed int
	// Open counts the breaches that are known.
	Open int
	Took time.Duration
}

// RunMany lives the lives of so many seeds, from the first on, as many at once as
// there are processors, and returns those that broke a guarantee, by seed. It is
// told of progress, if it is to be told, from one goroutine at a time. When the
// context ends it returns what was found by then.
func RunMany(ctx context.Context, first uint64, n int, progress func(Progress)) []Result {
	var (
		mu     sync.Mutex
		failed = map[uint64]Result{}
		done   int
		open   int
		began  = time.Now()
		seeds  = make(chan uint64)
		all    sync.WaitGroup
	)
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for seed := range seeds {
				r := Run(seed)
				mu.Lock()
				done++
				open += len(r.Open)
				if len(r.Violations) > 0 {
					failed[seed] = r
				}
				if progress != nil {
					progress(Progress{Done: done, Total: n, Failed: len(failed), Open: open, Took: time.Since(began)})
				}
				mu.Unlock()
			}
		})
	}
	for seed := first; seed < first+uint64(n) && ctx.Err() == nil; seed++ {
		seeds <- seed
	}
	close(seeds)
	all.Wait()
	var found []Result
	for seed := first; seed < first+uint64(n); seed++ {
		if r, ok := failed[seed]; ok {
			found = append(found, r)
		}
	}
	return found
}
