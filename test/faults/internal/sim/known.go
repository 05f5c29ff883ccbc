// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"strings"
	"time"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/oracle"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/sim/kube"
)

// knownBreaches are reported and not decided yet. They are counted apart, so that a new one is not overlooked among them. Each
// happens only while an informer lags; the same breach without a lag is not known. Delete an entry when the product is fixed, or when
// the oracle proves to be wrong. TestKnownBreaches has the smallest case of some of them.
var knownBreaches = []struct {
	oracle, text string
	// lagging are the kinds of which at least one informer lags.
	lagging kindSet
}{
	// Whether a PVC is being restored from a snapshot is read from the cache only.
	{"S2", "is being restored from it", setOf(kube.Claims)},
	// Cap and tiers count newer snapshots that a user has deleted, or that are held for a restore: only the floor is read live.
	{"S2", "its age or a tier keeps it", setOf(kube.Snapshots) | setOf(kube.Claims)},
	// A failed uncut snapshot is replaced for a slot that another snapshot covers, which the cache does not hold yet.
	{"S2", "its age is within the TTL", setOf(kube.Snapshots)},
	// A slot that had a snapshot and is over by the new spec is taken again by the old spec.
	{"S4", "covered until the operator deleted it", setOf(kube.Schedules)},
}

// splitKnown separates the known breaches from the others.
func (sim *simulation) splitKnown(all []oracle.Violation) (violations, known []oracle.Violation) {
	for _, v := range all {
		if sim.isKnown(v) {
			known = append(known, v)
		} else {
			violations = append(violations, v)
		}
	}
	return violations, known
}

func (sim *simulation) isKnown(v oracle.Violation) bool {
	for _, k := range knownBreaches {
		if v.Oracle == k.oracle && strings.Contains(v.Message, k.text) && sim.lagged(v.Request, k.lagging) {
			return true
		}
	}
	return false
}

// lagged returns whether an informer of some kinds lagged when a request was sent or shortly before: a reconcile reads the cache at
// its start.
func (sim *simulation) lagged(request int, kinds kindSet) bool {
	if request < 0 {
		return false
	}
	last := &sim.history.Requests[request]
	for i := request; i >= 0 && last.At.Sub(sim.history.Requests[i].At) < 10*time.Second; i-- {
		if sim.history.Requests[i].Process == last.Process && sim.lagging[i]&kinds != 0 {
			return true
		}
	}
	return false
}

// kindSet is a set of kinds.
type kindSet uint8

func setOf(k kube.Kind) kindSet { return 1 << k }

// laggingKinds are the kinds of which changes are undelivered, or were until a moment ago.
func (o *operator) laggingKinds() (kinds kindSet) {
	for _, i := range o.informers {
		if i.delivered < len(o.sim.changes[i.kind]) || o.sim.now.Sub(i.lastDelivery) < 2*time.Second {
			kinds |= setOf(i.kind)
		}
	}
	return kinds
}
