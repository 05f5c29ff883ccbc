// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"time"
	"unique"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/plan"
)

// Summary is what is known about a parent when its status is computed.
type Summary struct {
	// Missing names the kinds that are not installed.
	Missing []string
	// Unseen is set while optional kinds are missing: there may be outputs of them that nobody counts.
	Unseen bool
	// Invalid says why the spec cannot be compiled.
	Invalid error
	// Spec is that of the parent's Program; nil if Invalid is set.
	Spec any
	// Totals is the proposal's aggregated status: for each input kind how many are
	// selected, for each output kind how many are owned and of how many a condition
	// is true, by plan.Path. Of an invalid spec only those of outputs are known. It is
	// nil, like Keys, until every key was decided under the parent's generation, and while
	// a kind is missing: then only conditions and the record are written, and what is
	// absent where the spec is invalid.
	Totals map[string]int
	// Keys are the statuses that decisions returned, in no order.
	Keys []any
	// ServerTime is the API server's time, in whole seconds, where Recording.IsDue asked for
	// it; zero if it is not known. Then the status is computed again after a while.
	ServerTime time.Time
	// Settled is set if the status may name the parent's generation: every key was decided,
	// or the spec is invalid, and, if the parent owns by labels, no output refers to it.
	Settled bool
	// Refused is set if the API server refused the status as invalid. Then conditions,
	// with texts that no user can influence, and the record are written, and nothing else.
	Refused bool
}

// NewSummary returns a settled Summary of some keys.
func NewSummary(kinds *plan.Kinds, keys ...*plan.KeyStatus) *Summary {
	counts := map[unique.Handle[plan.Path]]int{}
	for _, in := range kinds.Inputs {
		counts[unique.Make(plan.Path{"inputs", in.Resource, "total"})] = 0
	}
	for _, out := range kinds.Outputs {
		counts[unique.Make(plan.Path{"outputs", out.Resource, "total"})] = 0
	}
	s := &Summary{Totals: map[string]int{}, Settled: true}
	for _, key := range keys {
		for _, count := range key.Counts {
			counts[count.Path] += count.N
		}
		if key.Status != nil {
			s.Keys = append(s.Keys, key.Status)
		}
	}
	for path, n := range counts {
		s.Totals[path.Value().String()] = n
	}
	return s
}
