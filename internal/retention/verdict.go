// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"slices"
	"strings"
)

// Verdict is whether a snapshot is kept or deleted, and why. The zero Verdict
// keeps.
type Verdict uint8

const (
	// NoLimit keeps: the policy has neither a TTL nor tiers.
	NoLimit Verdict = iota
	// BeingDeleted keeps: it is terminating already and is not deleted again.
	BeingDeleted
	// HeldByAnnotation keeps: it is cut and carries the hold annotation, which overrides
	// everything else until it ends.
	HeldByAnnotation
	// HeldByRestore keeps: it is the source of a PVC that is still Pending.
	HeldByRestore
	// HeldInProgress keeps: it is still in progress.
	HeldInProgress
	// Unready keeps a snapshot that is not ready where no TTL is set: an uncut one
	// until it is replaced, a cut one until it is superseded.
	Unready
	// WithinTTL keeps: its age is within the TTL.
	WithinTTL
	// KeptLast keeps: the tier keep.last selects it. Each tier of TierTable has such a verdict, from this one on. If several
	// select a snapshot, the verdict is the first of them.
	KeptLast
	// KeptNewest keeps the newest snapshot of a selected PVC where no TTL is set
	// and no tier selects it: without it, its slot would be due again.
	KeptNewest Verdict = iota - 1 + Verdict(len(TierTable))
	// Floor keeps: it is one of the newest minReady ready snapshots, and would be
	// deleted otherwise.
	Floor
	// Verified keeps: it is one of the newest minVerified verified snapshots, and would be
	// deleted otherwise.
	Verified
	// Recovering keeps a cut snapshot that is not ready, and would be kept if it were:
	// it may have been so until now. With an error, it keeps it for readyDeadline only;
	// without one, only beyond its TTL and while the floor lacks ready ones, or if minVerified
	// would keep it.
	Recovering

	// Expired deletes: its age is beyond the TTL, and no tier selects it.
	Expired
	// NotSelected deletes: no tier selects it, and no TTL is set.
	NotSelected
	// OverCap deletes: there are more than maxCount, and it is the first to be
	// deleted.
	OverCap
	// Replaced deletes an uncut snapshot that failed, because a slot is due.
	Replaced
	// ClaimGone deletes an uncut snapshot whose PVC is being deleted or gone: it
	// would block the deletion of the PVC, or be cut from another PVC of its name.
	ClaimGone
	// Superseded deletes a cut snapshot that failed or is no longer ready. Where no TTL
	// is set, it is beyond readyDeadline and older than every ready snapshot that is kept;
	// or it failed, a slot is due, and the volume has no place for another snapshot.
	Superseded
	// KeepsClaim deletes a cut snapshot that failed while its PVC, or a later one of the same name, is
	// being deleted: the snapshot controller keeps that one while a snapshot of the name is not ready, and nothing retries it.
	KeepsClaim
)

var verdictNames = slices.Concat(
	[]string{"NoLimit", "BeingDeleted", "HeldByAnnotation", "HeldByRestore", "HeldInProgress", "Unready", "WithinTTL"},
	keptNames(),
	[]string{"KeptNewest", "Floor", "Verified", "Recovering"},
	[]string{"Expired", "NotSelected", "OverCap", "Replaced", "ClaimGone", "Superseded", "KeepsClaim"},
)

func keptNames() (names []string) {
	for _, t := range TierTable {
		names = append(names, "Kept"+strings.ToUpper(t.Name[:1])+t.Name[1:])
	}
	return names
}

// String returns the verdict as one word, for logs and metrics.
func (v Verdict) String() string { return verdictNames[v] }

// Delete reports whether the snapshot is deleted.
func (v Verdict) Delete() bool { return v >= Expired }

// Urgent reports whether something waits for the delete: the next snapshot, or the
// deletion of the PVC. Such a snapshot is uncut and costs the backend nothing.
func (v Verdict) Urgent() bool { return v == Replaced || v == ClaimGone }

// Held reports whether a hold keeps the snapshot: a user's, or that of a restore.
func (v Verdict) Held() bool { return v == HeldByAnnotation || v == HeldByRestore }

// ByTier reports whether a tier keeps the snapshot.
func (v Verdict) ByTier() bool { return v >= KeptLast && v < KeptNewest }
