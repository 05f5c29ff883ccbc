// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"strings"
	"time"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/oracle"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/sim/kube"
)

// open are breaches that are known, reported and not decided yet: they are told
// apart, so that a new one is not lost among them. Each happens only to a cache
// that is behind; the same breach by one that is not is none of these. An entry
// goes when the product is mended, or the oracle finds it to be none.
// TestFinds shows the least that some of them take.
var open = []struct {
	oracle, text string
	// behind are the kinds of one of which the operator had not been told all.
	behind behind
}{
	// Whether a PVC is being filled from a snapshot is read from the cache alone.
	{"S2", "is being restored from it", of(kube.Claims)},
	// Cap and tiers count newer snapshots that a user has deleted, or that are
	// held for a restore: only the floor is read live.
	{"S2", "its age or a tier keeps it", of(kube.Snapshots) | of(kube.Claims)},
	// Uncut failed snapshots are replaced for a slot that another one serves,
	// which the cache does not show yet.
	{"S2", "its age is within the TTL", of(kube.Snapshots)},
	// A slot that was served and is over by the spec of today is taken again by
	// that of yesterday.
	{"S4", "had served until the controller deleted it", of(kube.Schedules)},
}

// split sorts out the breaches that are open.
func (w *world) split(all []oracle.Violation) (violations, known []oracle.Violation) {
	for _, v := range all {
		if w.isOpen(v) {
			known = append(known, v)
		} else {
			violations = append(violations, v)
		}
	}
	return violations, known
}

func (w *world) isOpen(v oracle.Violation) bool {
	for _, o := range open {
		if v.Oracle == o.oracle && strings.Contains(v.Message, o.text) && w.wasBehind(v.Request, o.behind) {
			return true
		}
	}
	return false
}

// wasBehind tells whether an operator had not been told all of some kinds when it
// sent a request, or shortly before: what a pass rests on it reads at the start.
func (w *world) wasBehind(request int, kinds behind) bool {
	if request < 0 {
		return false
	}
	last := &w.history.Requests[request]
	for i := request; i >= 0 && last.At.Sub(w.history.Requests[i].At) < 10*time.Second; i-- {
		if w.history.Requests[i].Process == last.Process && w.behind[i]&kinds != 0 {
			return true
		}
	}
	return false
}

// behind are the kinds that an operator had not been told all of, or not for long.
type behind uint8

func of(k kube.Kind) behind { return 1 << k }

func (o *operator) behind() (b behind) {
	for _, t := range o.watches {
		if t.told < len(o.world.changes[t.kind]) || o.world.now.Sub(t.news) < 2*time.Second {
			b |= of(t.kind)
		}
	}
	return b
}
