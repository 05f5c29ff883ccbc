/*
Copyright 2026 The SnapshotSchedule Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

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
// TestFinds shows each in a few steps.
var open = []struct {
	oracle, text string
	// behind is the kind that the operator had not been told all of.
	behind kube.Kind
}{
	// Whether a PVC is being filled from a snapshot is read from the cache alone.
	{"S2", "is being restored from it", kube.Claims},
	// Cap and tiers count newer snapshots that a user has deleted: only the floor
	// is read live.
	{"S2", "its age or a tier keeps it", kube.Snapshots},
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

// wasBehind tells whether an operator had not been told all of a kind when it
// sent a request, or shortly before: what a pass rests on it reads at the start.
func (w *world) wasBehind(request int, k kube.Kind) bool {
	if request < 0 {
		return false
	}
	last := &w.history.Requests[request]
	for i := request; i >= 0 && last.At.Sub(w.history.Requests[i].At) < 30*time.Second; i-- {
		if w.history.Requests[i].Process == last.Process && w.behind[i].has(k) {
			return true
		}
	}
	return false
}

// behind are the kinds that an operator had not been told all of.
type behind uint8

func (b behind) has(k kube.Kind) bool { return b&(1<<k) != 0 }

func (o *operator) behind() (b behind) {
	for k, t := range o.watches {
		if t.told < len(o.world.changes[t.kind]) {
			b |= 1 << k
		}
	}
	return b
}
