// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ErrEnded is why a run ends whose rollback another run has undone, or whose lock something has taken off.
var ErrEnded = errors.New("the note that the rollback is unfinished is gone: it was undone or ended elsewhere, or its note was removed")

// begin sets which rollback this run goes on with, or begins.
func (s *State) begin() error {
	if s.lock = s.Own; s.Released {
		return nil
	}
	var names []string
	for _, c := range s.Claims {
		names = append(names, c.Name)
	}
	found, err := s.Underway(names)
	switch {
	case err != nil:
		return err
	case s.Own != nil && (found == nil || s.lockTakenOff()):
		return s.endedElsewhere()
	case found == nil:
		return s.beginNew()
	}
	if err := s.mayGoOn(found, names); err != nil {
		return err
	}
	return s.goOn(found)
}

// lockTakenOff returns whether the workload has no lock, which this run has written on it.
func (s *State) lockTakenOff() bool {
	if s.Workload == nil {
		return false
	}
	l, err := lockOn(s.Workload.Object)
	return l == nil && err == nil
}

// endedElsewhere ends a run whose lock is gone. To take it again would begin anew what somebody has undone.
func (s *State) endedElsewhere() error {
	for _, c := range s.Claims {
		present := c.present(s)
		if n := len(present); n == 0 || present[n-1].ID != s.Own.ID || present[n-1].GivenUp {
			return fmt.Errorf("%w: run it again if PersistentVolumeClaim %s should have other data than it has now (rollback %s)",
				ErrEnded, joined(s.Own.Names()), s.Own.ID)
		}
	}
	s.Released = true // by another run of this rollback
	return nil
}

// goOn goes on with an unfinished rollback, or begins to undo it.
func (s *State) goOn(found *Lock) error {
	s.lock = found
	// Whoever may edit the workload writes the lock. A workload that runs is never left at less than it has.
	found.Replicas = max(found.Replicas, Replicas(s))
	undone := cmp.Or(found.Undo, found.ID)
	switch own := s.Own; {
	case own != nil && own.ID == found.ID, !s.Undo && found.Undo == "":
		return nil
	case !s.Undo:
		return fmt.Errorf("%s: finish it first with --undo", found.what())
	case s.UndoID != "" && s.UndoID != undone:
		return fmt.Errorf("%s: only that one can be undone now", found.what())
	case found.Undo == "":
		s.lock = &Lock{
			ID: s.NewID, Began: metav1.Time{Time: s.Began.Truncate(time.Second)}, Undo: found.ID, Claims: found.Claims, Replicas: found.Replicas,
		}
	}
	return nil
}

// mayGoOn returns why this run may not go on with an unfinished rollback.
func (s *State) mayGoOn(found *Lock, names []string) error {
	const hint = "finish it first, or undo it with --undo"
	for _, name := range names {
		if !slices.Contains(found.Names(), name) {
			return fmt.Errorf("%s: %s", found.what(), hint)
		}
	}
	switch own := s.Own; {
	case own != nil && (found.ID != own.ID || found.User != s.User):
		return fmt.Errorf("another one goes on instead of this one: %s", found.what())
	case found.User == s.User, s.TakeOver && found.abandoned(s.Now):
		return nil
	}
	return fmt.Errorf("%s: %s, or, once its last step is older than an hour, continue it with --take-over", found.what(), hint)
}

// beginNew begins a rollback, or the undo of the latest one. Without anything to do, there is no lock.
func (s *State) beginNew() error {
	l := &Lock{ID: s.NewID, Began: metav1.Time{Time: s.Began.Truncate(time.Second)}, Replicas: Replicas(s)}
	if s.Undo {
		l.Undo = s.latest()
	}
	for _, c := range s.Claims {
		if c.begins(s, l.Undo) {
			goal := Goal{Name: c.Name}
			if c.Target != nil {
				goal.Snapshot, goal.SnapshotUID = c.Target.Name, c.Target.UID
			}
			l.Claims = append(l.Claims, goal)
		} else {
			c.done = true
		}
	}
	if again := s.again(); again != nil {
		return again
	}
	switch {
	case s.Undo && len(l.Claims) == 0 && s.UndoID != "":
		return fmt.Errorf("there is no rollback %s of what the PVCs have now", s.UndoID)
	case s.Undo && len(l.Claims) == 0:
		return errors.New("there is no rollback to undo")
	case len(l.Claims) == 0:
		return nil
	}
	err := s.scaledForAnother()
	if err == nil {
		s.lock = l
	}
	return err
}

// scaledForAnother returns an error if the workload is scaled to 0 for an unfinished rollback of other PVCs.
func (s *State) scaledForAnother() error {
	for _, r := range s.unfinished() {
		if s.Workload != nil && r.Workload == s.Workload.Name() && r.Lock != nil {
			return fmt.Errorf("%s: %s is scaled to 0 for it: finish it first, with --pvc %s",
				r.Lock.what(), r.Workload, strings.Join(r.Lock.Names(), ","))
		}
	}
	return nil
}

// again returns why a rollback does not begin: an earlier one has gone back to the same snapshot already. To say that the PVC has that data
// would not be true: it has also what was written since, which may be what has spoiled it again.
func (s *State) again() error {
	var errs []error
	for _, c := range s.Claims {
		if r := c.record; c.done && r != nil {
			errs = append(errs, fmt.Errorf("nothing was done: PersistentVolumeClaim %s has gone back to VolumeSnapshot %s at %s, by rollback %s, "+
				"and what was written since is on it; --again goes back once more", c.Name, r.Snapshot, finished(r), r.ID))
		}
	}
	return errors.Join(errs...)
}

// latest returns the ID of the latest rollback of what the PVCs have now, or the one that is named.
func (s *State) latest() string {
	var latest *Record
	for _, c := range s.Claims {
		for _, r := range c.present(s) {
			if s.UndoID == r.ID || s.UndoID == "" && r.Undo == "" && (latest == nil || latest.Finished.Before(r.Finished)) {
				latest = r
			}
		}
	}
	if latest == nil {
		return ""
	}
	return latest.ID
}

// begins returns whether there is anything to do for a PVC.
func (c *Claim) begins(s *State, undo string) bool {
	present := c.present(s)
	if s.Undo {
		i := slices.IndexFunc(present, func(r *Record) bool { return r.ID == undo })
		if i >= 0 {
			c.base = present[i]
		}
		return i >= 0
	}
	if n := len(present); n > 0 && present[n-1].Undo == "" && present[n-1].SnapshotUID == c.Target.UID && !c.Again {
		c.record = present[n-1]
		return false
	}
	return true
}
