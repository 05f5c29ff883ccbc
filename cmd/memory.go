// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
)

// memoryLimitVariable has the memory limit of the container in bytes, from the
// downward API, which cannot calculate a share of it.
const memoryLimitVariable = "MEMORY_LIMIT"

// setMemoryLimit sets the runtime's soft limit to 90 % of the container's limit. The
// rest is for what the runtime does not count. A user's GOMEMLIMIT takes precedence.
func setMemoryLimit(getenv func(string) string) error {
	text := getenv(memoryLimitVariable)
	if text == "" || getenv("GOMEMLIMIT") != "" {
		return nil
	}
	limit, err := strconv.ParseInt(text, 10, 64)
	if err != nil || limit <= 0 {
		return fmt.Errorf("invalid %s %q: want a number of bytes", memoryLimitVariable, text)
	}
	debug.SetMemoryLimit(limit / 10 * 9)
	return nil
}

// leastHeadroom is what the heap may grow by between two garbage collections, in bytes, however small it is: with
// GOGC=65, a little less than it grows by with the snapshots that the memory request is for.
const leastHeadroom = 24 << 20

// headroom sets GOGC after each garbage collection. With few objects, GOGC alone would have all of them marked
// again every few MB, which is a tenth of the CPU of a burst of creates.
type headroom struct {
	// percent is the user's GOGC.
	percent uint64
	now     []metrics.Sample
}

// keepHeadroom starts it, unless the user switched GOGC off.
func keepHeadroom() {
	h := &headroom{now: []metrics.Sample{{Name: "/gc/gogc:percent"}, {Name: "/gc/heap/live:bytes"}}}
	metrics.Read(h.now)
	if h.percent = h.now[0].Value.Uint64(); h.percent <= math.MaxInt32 {
		h.collected(struct{}{})
	}
}

// collected is called after each garbage collection, because that finds an object that nobody uses.
func (h *headroom) collected(struct{}) {
	metrics.Read(h.now)
	if percent := h.of(h.now[1].Value.Uint64()); percent != h.now[0].Value.Uint64() {
		debug.SetGCPercent(int(percent)) //nolint:gosec // it is no larger than the user's, or than 600
	}
	type unused struct{ _ *headroom }
	runtime.AddCleanup(&unused{}, h.collected, struct{}{})
}

// of returns GOGC for a live heap, in tens: each change stops the world for a moment.
func (h *headroom) of(live uint64) uint64 {
	const (
		smallest = 4 << 20 // before the first garbage collection, nothing is known to be alive
		step     = 10
	)
	return max(h.percent, leastHeadroom*100/max(live, smallest)/step*step)
}
