// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package retention

import "time"

// Policy is what the spec says of retention. A zero number or duration means
// that the field is not set.
type Policy struct {
	// TTL is spec.snapshotTTL.
	TTL time.Duration
	// Keep is spec.retention.keep.
	Keep Tiers
	// MaxCount is the limit on the ready snapshots of a series that are not held.
	MaxCount int
	// MinReady is the floor of a PVC that exists. The API sets its default, so
	// zero here is a floor of zero.
	MinReady int
	// MinVerified is how many verified snapshots of a PVC that exists stay.
	MinVerified int
	// ReadyDeadline is how long a snapshot may stay uncut. It must be set: with
	// zero, every uncut snapshot has failed.
	ReadyDeadline time.Duration
	// Location is the time zone of the calendar tiers; nil is UTC.
	Location *time.Location
	// MaxClockSkew is --max-clock-skew: how far the clocks of operators and API servers
	// may differ.
	MaxClockSkew time.Duration
	Detached     Detached
}

// slotTolerance returns by how much a scheduled-at may be later than the creation: by what
// clocks may differ, and two seconds, because they are compared in whole seconds and
// creationTimestamps are truncated to them.
func (p *Policy) slotTolerance() time.Duration { return p.MaxClockSkew + 2*time.Second }

// TakenAhead reports whether a snapshot was taken for a slot that was not due yet, by a clock
// that was ahead by more than clocks may differ.
func (p *Policy) TakenAhead(s *Snapshot) bool { return s.takenAhead(p.slotTolerance()) }

// Detached is what differs for a series whose PVC is gone or not selected.
type Detached struct {
	// TTL replaces Policy.TTL and the tiers. The cap still applies.
	TTL time.Duration
	// MinReady is the floor of a PVC that is gone.
	MinReady int
}

// limits are the limits that apply to one series.
type limits struct {
	ttl         time.Duration
	keep        Tiers
	maxCount    int
	minReady    int
	minVerified int
}

func (p *Policy) limitsFor(c Claim) limits {
	l := limits{ttl: p.TTL, keep: p.Keep, maxCount: p.MaxCount, minReady: p.MinReady, minVerified: p.MinVerified}
	if c != Selected && p.Detached.TTL > 0 {
		l.ttl, l.keep = p.Detached.TTL, Tiers{}
	}
	if c == Gone {
		l.minReady, l.minVerified = p.Detached.MinReady, 0
	}
	return l
}
