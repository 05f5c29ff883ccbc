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

package retention

import "time"

// Policy is what the spec says of retention. A zero number or duration is one
// that is left out.
type Policy struct {
	// TTL is spec.snapshotTTL.
	TTL time.Duration
	// Keep are the tiers.
	Keep Tiers
	// MaxCount caps the ready and not held snapshots of a series.
	MaxCount int
	// MinReady is the floor of a PVC that exists. Defaults are the API's: a
	// zero here is a floor of zero.
	MinReady int
	// ReadyDeadline is how long a snapshot may stay uncut. Always set it: with
	// zero everything uncut has failed.
	ReadyDeadline time.Duration
	// Location is the zone of the calendar tiers; nil: UTC.
	Location *time.Location
	Detached Detached
}

// Tiers are how many snapshots each tier keeps.
type Tiers struct {
	Last, Hourly, Daily, Weekly, Monthly, Yearly int
}

// Detached is what differs for a series whose PVC is gone or not selected.
type Detached struct {
	// TTL replaces Policy.TTL and the tiers. The cap stays.
	TTL time.Duration
	// MinReady is the floor of a PVC that is gone.
	MinReady int
}

// limits are the part of a policy that applies to one series.
type limits struct {
	ttl      time.Duration
	keep     Tiers
	maxCount int
	minReady int
}

// limits picks what applies to a series whose PVC stands so.
func (p *Policy) limits(c Claim) limits {
	l := limits{ttl: p.TTL, keep: p.Keep, maxCount: p.MaxCount, minReady: p.MinReady}
	if c != Selected && p.Detached.TTL > 0 {
		l.ttl, l.keep = p.Detached.TTL, Tiers{}
	}
	if c == Gone {
		l.minReady = p.Detached.MinReady
	}
	return l
}
