// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

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
