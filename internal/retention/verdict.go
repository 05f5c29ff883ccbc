// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package retention

// Verdict is what becomes of a snapshot, and why. The zero Verdict keeps.
type Verdict uint8

const (
	// NoLimit keeps: the policy limits neither age nor tiers.
	NoLimit Verdict = iota
	// IsTerminating keeps: it is being deleted already, and is not deleted twice.
	IsTerminating
	// HeldAnnotation keeps: the hold annotation wins over everything, even over
	// an uncut snapshot's being replaced or its PVC's being gone.
	HeldAnnotation
	// HeldRestore keeps: a PVC that is still Pending is to be filled from it.
	HeldRestore
	// HeldUnderWay keeps: it is still being taken.
	HeldUnderWay
	// Unready keeps an unready snapshot where no TTL is set: an uncut one until
	// it is replaced, a cut one until it would be Superseded.
	Unready
	// WithinTTL keeps: its age is within the TTL.
	WithinTTL
	// KeptLast keeps: the tier keep.last selects it. With this and the next five
	// the first tier that does is named.
	KeptLast
	// KeptHourly keeps: it is the newest ready one of its hour.
	KeptHourly
	// KeptDaily keeps: of its day.
	KeptDaily
	// KeptWeekly keeps: of its ISO week.
	KeptWeekly
	// KeptMonthly keeps: of its month.
	KeptMonthly
	// KeptYearly keeps: of its year.
	KeptYearly
	// KeptNewest keeps the newest snapshot of a selected PVC where no TTL is set
	// and no tier selects it: if it went, its slot would be due again.
	KeptNewest
	// Floor keeps: it is one of the newest minReady ready ones, and would have
	// gone otherwise.
	Floor

	// Expired deletes: its age is beyond the TTL, and no tier selects it.
	Expired
	// NotSelected deletes: no tier selects it, and no TTL is set.
	NotSelected
	// OverCap deletes: there are more than maxCount, and it is first to go.
	OverCap
	// Replaced deletes an uncut failed snapshot, as a slot is due.
	Replaced
	// ClaimGone deletes an uncut snapshot whose PVC is being deleted or gone:
	// it would block the PVC's deletion, or be cut from another PVC.
	ClaimGone
	// Superseded deletes a cut snapshot that failed or is no longer ready, where
	// no TTL is set: it is beyond readyDeadline and older than every ready
	// snapshot that is kept.
	Superseded
)

var verdictNames = [...]string{
	"NoLimit", "Terminating", "Held", "HeldByRestore", "UnderWay", "Unready", "WithinTTL",
	"KeptLast", "KeptHourly", "KeptDaily", "KeptWeekly", "KeptMonthly", "KeptYearly", "KeptNewest", "Floor",
	"Expired", "NotSelected", "OverCap", "Replaced", "ClaimGone", "Superseded",
}

// String is the verdict in one word, for logs and metrics.
func (v Verdict) String() string { return verdictNames[v] }

// Delete reports whether the snapshot is to be deleted.
func (v Verdict) Delete() bool { return v >= Expired }

// byTier reports whether a tier keeps the snapshot.
func (v Verdict) byTier() bool { return v >= KeptLast && v <= KeptYearly }
