// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"fmt"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/limits"
	"mapcontroller.dev/snapshotschedule/internal/snapshots/metrics"
)

// counts returns the counts by label.
func (f *inFlight) counts() map[string]limits.Count {
	byLabel := map[string]limits.Count{metrics.OtherDrivers: {}}
	for _, o := range f.allClasses() {
		if d, _ := driverOfClass(o); driverNamed(string(d)) != "" {
			byLabel[string(d)] = limits.Count{}
		}
	}
	f.mu.Lock()
	counts := f.limits.Counts(f.clock.Now())
	f.mu.Unlock()
	for name, c := range counts {
		if _, isClass := byLabel[name]; !isClass || !f.classesKnown {
			name = metrics.OtherDrivers
		}
		sum := byLabel[name]
		byLabel[name] = limits.Count{InFlight: sum.InFlight + c.InFlight, Waiting: sum.Waiting + c.Waiting}
	}
	return byLabel
}

// shortage returns the problem of a group that found no room while its driver was reserved for it; without a reason, it has none.
func (f *inFlight) shortage(req limits.Request, d driver) Problem {
	f.mu.Lock()
	s, ok := f.limits.Shortage(req)
	f.mu.Unlock()
	if !ok {
		return Problem{}
	}
	limit := "max-in-flight"
	if s.Reason == limits.Pending {
		limit = "max-pending"
	}
	return Problem{Reason: v1alpha1.ReasonGroupWaits, Harmless: true, Message: fmt.Sprintf(
		"the group needs %d places, and found no room while driver %s was reserved for this namespace: "+
			"of the %d of %s, this namespace has %d, and others have %d", s.Needs, d, s.Size, limit, s.Own, s.Others)}
}
