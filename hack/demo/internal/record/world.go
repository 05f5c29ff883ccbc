// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package record keeps what a watch has seen of the demo's objects: those that
// are there, and those that were.
package record

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// Claim is a PVC.
type Claim struct {
	Name    string
	UID     types.UID
	Labels  map[string]string
	Bound   bool
	Created time.Time
	// Gone is when the PVC was seen to be gone; zero while it is there.
	Gone time.Time
}

// Snapshot is a VolumeSnapshot.
type Snapshot struct {
	Name  string
	UID   types.UID
	Claim string
	// MapKey and Owner say whose it is: the map-key label and the controller's UID.
	MapKey, Owner string
	// Slot is what it was taken for; zero if it does not say.
	Slot    time.Time
	Created time.Time
	// Cut says that the storage has taken it, Ready that it can be used now.
	Cut, Ready bool
	// ReadyAt is when it was first seen ready, Gone when it was seen to be gone.
	ReadyAt, Gone time.Time
	// Deleted is its deletionTimestamp.
	Deleted time.Time
}

// Live snapshots are there and not being deleted.
func (s *Snapshot) Live() bool { return s.Gone.IsZero() && s.Deleted.IsZero() }

// Usable snapshots are live and ready.
func (s *Snapshot) Usable() bool { return s.Live() && s.Ready }

// World is everything seen, at one moment.
type World struct {
	Now       time.Time
	Claims    []Claim
	Snapshots []Snapshot
	// Contents counts the VolumeSnapshotContents of the cluster.
	Contents int
	// Schedule is nil while there is none.
	Schedule *v1alpha1.SnapshotSchedule
}

// Claim finds a PVC by its name: the newest of that name, even if it is gone.
func (w *World) Claim(name string) *Claim {
	var found *Claim
	for i := range w.Claims {
		if c := &w.Claims[i]; c.Name == name && (found == nil || c.Created.After(found.Created)) {
			found = c
		}
	}
	return found
}

// Series are all snapshots of a PVC, live or not, in the order of their slots.
func (w *World) Series(claim string) []Snapshot {
	return w.pick(func(s *Snapshot) bool { return s.Claim == claim })
}

// There are the snapshots of a PVC that have not gone yet.
func (w *World) There(claim string) []Snapshot {
	return w.pick(func(s *Snapshot) bool { return s.Claim == claim && s.Gone.IsZero() })
}

// Live are the live snapshots of a PVC.
func (w *World) Live(claim string) []Snapshot {
	return w.pick(func(s *Snapshot) bool { return s.Claim == claim && s.Live() })
}

// Usable are the live and ready snapshots of a PVC.
func (w *World) Usable(claim string) []Snapshot {
	return w.pick(func(s *Snapshot) bool { return s.Claim == claim && s.Usable() })
}

// Left are the snapshots, of whatever PVC, that have not gone yet.
func (w *World) Left() []Snapshot {
	return w.pick(func(s *Snapshot) bool { return s.Gone.IsZero() })
}

func (w *World) pick(wanted func(*Snapshot) bool) []Snapshot {
	var found []Snapshot
	for i := range w.Snapshots {
		if wanted(&w.Snapshots[i]) {
			found = append(found, w.Snapshots[i])
		}
	}
	slices.SortStableFunc(found, func(a, b Snapshot) int { return a.Slot.Compare(b.Slot) })
	return found
}
