// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Lives runs lives of the simulation, each from its seed, and stops at the first
// that breaks a guarantee, or one of some. The mutants' program builds it anew for each mutant.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/sim"
)

// told is one life.
type told struct {
	Seed       uint64   `json:"seed"`
	Oracles    []string `json:"oracles,omitempty"`
	Violations []string `json:"violations,omitempty"`
}

func main() {
	n := flag.Uint64("n", 1, "how many `lives` to run, from seed 0 on")
	until := flag.String("until", "", "stop only when one of these `guarantees` is broken, with commas; any if left out")
	flag.Parse()
	var next, broken atomic.Uint64
	var mu sync.Mutex
	out := json.NewEncoder(os.Stdout)
	var all sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for broken.Load() == 0 {
				seed := next.Add(1) - 1
				if seed >= *n {
					return
				}
				life := live(seed)
				if life.breaks(*until) {
					broken.Add(1)
				}
				mu.Lock()
				err := out.Encode(life)
				mu.Unlock()
				if err != nil {
					fmt.Fprintln(os.Stderr, "lives:", err)
					os.Exit(2)
				}
			}
		})
	}
	all.Wait()
}

func (t told) breaks(guarantees string) bool {
	return slices.ContainsFunc(t.Oracles, func(o string) bool { return guarantees == "" || slices.Contains(strings.Split(guarantees, ","), o) })
}

func live(seed uint64) (life told) {
	life.Seed = seed
	for _, v := range sim.Run(seed).Violations {
		life.Oracles = append(life.Oracles, v.Oracle)
		life.Violations = append(life.Violations, v.Oracle+": "+v.Message)
	}
	return life
}
