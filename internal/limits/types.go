// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Request is a key of a schedule: that of a PVC, or of a group of them.
type Request struct {
	Parent types.NamespacedName
	MapKey string
}

// Wake is a key to reconcile after a time.
type Wake struct {
	Request Request
	After   time.Duration
}

// Snapshot is one that exists or is about to, of a PVC or of a group: its name, its schedule, in
// the same namespace, and the deadline until which it is cut or has failed.
type Snapshot struct {
	Namespace, Name, Schedule string
	// Volumes are those that it is of. It weighs as much as there are, and at least 1.
	Volumes []string
	// Limit names the limit that it counts towards: the driver.
	Limit         string
	ReadyDeadline time.Duration
}

func (s Snapshot) id() id { return snapshotID(s.Namespace, s.Name) }

func (s Snapshot) weight() int { return max(1, len(s.Volumes)) }

// inFlightFor is how long it is in flight while it is uncut.
func (s Snapshot) inFlightFor() time.Duration { return min(max(s.ReadyDeadline, shortest), longest) }

// pendingUntil returns until when it is pending at a stage. What a tenant can make longer ends, and what he can
// make shorter does not: whatever readyDeadline says, an uncut one counts for as long as any other.
func (s Snapshot) pendingUntil(now time.Time, at Stage) time.Time {
	from, lasts := at.Created, longest
	switch {
	case at.Followed:
		return now
	case !at.Deleted.IsZero():
		from = at.Deleted
	case at.Uncut:
	case at.Fails:
		lasts = min(max(s.ReadyDeadline, longest), LongestUpload)
	default:
		lasts = LongestUpload
	}
	if from.After(now) { // by a clock that is ahead
		from = now
	}
	return from.Add(lasts)
}

// Sizes are how many snapshots of a driver may be in flight and pending, by their weights; zero: any number.
type Sizes struct{ InFlight, Pending int }

// Create is a snapshot that a key lacks since a time.
type Create struct {
	Request  Request
	Snapshot Snapshot
	Since    time.Time
	Sizes    Sizes
	// Volumes are what is known of those of Snapshot.Volumes that have limits.
	Volumes []Volume
}

// Reason is why a snapshot has to wait.
type Reason string

// The reasons.
const (
	InFlight    Reason = "InFlight"
	Pending     Reason = "Pending"
	VolumeLimit Reason = "VolumeLimit"
	Spacing     Reason = "Spacing"
)

// Stage is how far a snapshot has come that was never ready.
type Stage struct {
	Created time.Time
	// Deleted is when it was deleted; zero: it is not being deleted.
	Deleted time.Time
	Uncut   bool
	// Fails is set if it is cut and has an error, with which it fails.
	Fails bool
	// Followed is set if a newer one of its series is ready: it is pending no more.
	Followed bool
}

// Count is what is known of one limit: the weight of what is in flight, and how many keys wait.
type Count struct{ InFlight, Waiting int }
