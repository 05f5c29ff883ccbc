// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/change"
	"mapcontroller.dev/snapshotschedule/internal/cli/holders"
)

const (
	// takeOverAfter is how long ago the last step of a rollback must be before another user may go on with it.
	takeOverAfter = time.Hour
	// renewLockAfter is how old the time of the last step may become.
	renewLockAfter = time.Minute
)

// Lock says which rollback of a workload or a PVC is unfinished, and all that it is to do. It is written before anything
// else, so that a rollback that is run again goes on to the same snapshots, and that a second one finds the first.
type Lock struct {
	ID string `json:"id"`
	// User is who runs it, Time when he took the last step, and Step its number.
	User string      `json:"user,omitempty"`
	Time metav1.Time `json:"time"`
	Step int         `json:"step,omitempty"`
	// Began is when the run began that began it: an age in --as-of is counted from there.
	Began metav1.Time `json:"began,omitzero"`
	// Undo is the ID of the rollback that it undoes.
	Undo   string `json:"undo,omitempty"`
	Claims []Goal `json:"claims"`
	// Replicas are those of the workload before the rollback.
	Replicas int32 `json:"replicas,omitempty"`
}

// Goal is a PVC, and the snapshot that it goes back to; empty to undo its rollback.
type Goal struct {
	Name        string    `json:"name"`
	Snapshot    string    `json:"snapshot,omitempty"`
	SnapshotUID types.UID `json:"snapshotUID,omitempty"`
}

// Names returns the names of the PVCs.
func (l *Lock) Names() (names []string) {
	for _, goal := range l.Claims {
		names = append(names, goal.Name)
	}
	return names
}

// Goal returns what a PVC goes back to.
func (l *Lock) Goal(name string) Goal {
	if i := slices.IndexFunc(l.Claims, func(g Goal) bool { return g.Name == name }); i >= 0 {
		return l.Claims[i]
	}
	return Goal{Name: name}
}

// what says whose rollback it is, and how far it has come.
func (l *Lock) what() string {
	kind := "rollback " + l.ID
	if l.Undo != "" {
		kind += ", which undoes rollback " + l.Undo + ","
	}
	return fmt.Sprintf("%s of %s by %s is unfinished (last step at %s)",
		kind, strings.Join(l.Names(), ", "), cmp.Or(l.User, "an unknown user"), l.Time.UTC().Format(time.RFC3339))
}

// Start returns when the rollback began: an older release, or somebody else, may have left that out.
func (l *Lock) Start() time.Time {
	if l.Began.IsZero() {
		return l.Time.Time
	}
	return l.Began.Time
}

// An ID is written into names and annotations.
var idPattern = regexp.MustCompile(`^[0-9a-f]{8}$`)

// valid returns what is wrong with a lock. Whoever may edit a workload or a PVC can write one.
func (l *Lock) valid() error {
	if !idPattern.MatchString(l.ID) || l.Undo != "" && !idPattern.MatchString(l.Undo) {
		return errors.New("it has no valid ID")
	}
	if l.Undo == l.ID {
		return errors.New("it undoes itself")
	}
	if len(l.Claims) == 0 || slices.ContainsFunc(l.Names(), func(name string) bool { return !validName(name) }) {
		return errors.New("it names no PVC")
	}
	if l.Time.IsZero() {
		return errors.New("it has no time")
	}
	if slices.ContainsFunc(l.Claims, func(g Goal) bool { return g.Snapshot != "" && !validName(g.Snapshot) }) {
		return errors.New("it names no VolumeSnapshot") // which messages have command lines to copy for
	}
	if l.Undo == "" && slices.ContainsFunc(l.Claims, func(g Goal) bool { return g.Snapshot == "" || g.SnapshotUID == "" }) {
		return errors.New("it does not say to which snapshot it goes back")
	}
	return nil
}

// abandoned returns whether the last step was so long ago that another user may go on. No rollback has written a time that has not come,
// which would never be so; clocks of API servers may differ by a minute.
func (l *Lock) abandoned(now time.Time) bool {
	age := now.Sub(l.Time.Time)
	return age > takeOverAfter || age < -time.Minute
}

// Fresh returns whether it began while its first holds last.
func (l *Lock) Fresh(now time.Time) bool {
	age := now.Sub(l.Began.Time)
	return age >= 0 && age <= holders.For
}

func validName(name string) bool { return len(validation.IsDNS1123Subdomain(name)) == 0 }

// lockOn returns the lock on a workload or a PVC; nil if there is none.
func lockOn(o client.Object) (*Lock, error) {
	text, ok := o.GetAnnotations()[v1alpha1.AnnotationRollback]
	if !ok {
		return nil, nil
	}
	l := &Lock{}
	if err := errors.Join(json.Unmarshal([]byte(text), l), l.valid()); err != nil {
		return nil, fmt.Errorf("%s has a malformed annotation %s, which no rollback has written: remove it if no rollback is unfinished: %w",
			o.GetName(), v1alpha1.AnnotationRollback, err)
	}
	return l, nil
}

func (l *Lock) text() string {
	text, err := json.Marshal(l)
	if err != nil {
		panic(err) // texts, numbers and times
	}
	return string(text)
}

// Underway returns the unfinished rollback of the workload or of one of the PVCs, or nil.
func (s *State) Underway(names []string) (*Lock, error) {
	var found []*Lock
	add := func(l *Lock, err error) error {
		if l != nil {
			found = append(found, l)
		}
		return err
	}
	if s.Workload != nil {
		if err := add(lockOn(s.Workload.Object)); err != nil {
			return nil, err
		}
	}
	for _, name := range names {
		if p := s.PVCs[name]; p != nil {
			if err := add(lockOn(p)); err != nil {
				return nil, err
			}
		}
	}
	for _, r := range s.unfinished() {
		if slices.Contains(names, r.Claim.Name) && r.Lock != nil {
			_ = add(r.Lock, nil)
		}
	}
	// Copies are left out, those that another one undoes, and those of rollbacks that have ended.
	undone, seen := map[string]bool{}, map[string]bool{}
	for _, l := range found {
		undone[l.Undo] = true
	}
	found = slices.DeleteFunc(found, func(l *Lock) bool {
		again := seen[l.ID]
		seen[l.ID] = true
		return again || undone[l.ID] || s.ended(l)
	})
	switch len(found) {
	case 0:
		return nil, nil
	case 1:
		return found[0], nil
	}
	return nil, fmt.Errorf("%s, and so is another one: %s; finish one of them first, with --pvc %s",
		found[0].what(), found[1].what(), strings.Join(found[0].Names(), ","))
}

// Unfinished is a rollback that began more than an hour ago, and Of what it is found by, as rollback takes it.
type Unfinished struct {
	Lock *Lock
	Of   string
}

// Noted is a workload or a PVC that may have a lock, and Of how rollback takes it.
type Noted struct {
	Object client.Object
	Of     string
}

// LongUnfinished returns the rollbacks of the namespace that began more than an hour ago and have not ended: by their locks on workloads
// and PVCs, and by their records, the only sign of them while the PVC does not exist. A malformed lock is none, and one of which all
// is finished was only left. Whoever may edit a workload writes its lock: one with the ID of another rollback hides it only if it is
// about the same PVCs, and one that says that it undoes another rollback hides nothing.
func (s *State) LongUnfinished(on []Noted) (found []Unfinished) {
	seen := map[string]bool{}
	add := func(l *Lock, of string) {
		if l == nil || s.Now.Sub(l.Start()) <= takeOverAfter || s.done(l) {
			return
		}
		if key := l.ID + " of " + strings.Join(l.Names(), ","); !seen[key] {
			seen[key] = true
			found = append(found, Unfinished{l, of})
		}
	}
	for _, o := range on {
		l, _ := lockOn(o.Object)
		add(l, o.Of)
	}
	for _, r := range s.unfinished() {
		if validName(r.Claim.Name) {
			add(r.Lock, "--pvc "+r.Claim.Name)
		}
	}
	return found
}

// done returns whether all records of a lock are finished. The run has ended before it took the lock off, or somebody has put it back.
func (s *State) done(l *Lock) bool {
	return !slices.ContainsFunc(l.Claims, func(g Goal) bool {
		r := s.recordsOf(g.Name)[l.ID]
		return r == nil || r.Finished == nil
	})
}

// ended returns whether a lock is one that came back, as with kubectl rollout undo: all of its PVCs have a finished record, and
// a later one.
func (s *State) ended(l *Lock) bool {
	for _, goal := range l.Claims {
		records := s.recordsOf(goal.Name)
		r := records[l.ID]
		if r == nil || r.Finished == nil || !slices.ContainsFunc(slices.Collect(maps.Values(records)), func(later *Record) bool {
			return later.Finished == nil || r.Finished.Before(later.Finished)
		}) {
			return false
		}
	}
	return true
}

// locked are the objects that carry the lock: the workload or, without one, the PVCs. An undo writes it on the PVCs that stay,
// too: the request of a stalled run that was to delete one then fails, before the volume may be deleted with its PVC again.
func (s *State) locked() (all []client.Object) {
	if s.Workload != nil {
		all = append(all, s.Workload.Object)
	}
	for _, c := range s.Claims {
		if !c.done && c.pvc != nil && c.pvc.DeletionTimestamp == nil && (s.Workload == nil || c.stays) {
			all = append(all, c.pvc)
		}
	}
	return all
}

// renewed returns the lock as it is with a step.
func (s *State) renewed(step int) *Lock {
	l := *s.lock
	l.User, l.Time, l.Step = s.User, metav1.Time{Time: s.Now.Truncate(time.Second)}, step
	return &l
}

// takeLock is done before step 1.
func takeLock(s *State, _ *Claim) (*Step, error) {
	var changes []change.Change
	var names []string
	for _, o := range s.locked() {
		l, err := lockOn(o)
		switch {
		case err != nil:
			return nil, err
		case l != nil && l.ID == s.lock.ID:
			continue
		}
		changes = append(changes, change.Annotate(o, map[string]any{v1alpha1.AnnotationRollback: s.renewed(1).text()}))
		if _, is := o.(*corev1.PersistentVolumeClaim); is {
			names = append(names, "PersistentVolumeClaim "+o.GetName())
		} else {
			names = append(names, s.Workload.Name())
		}
	}
	for _, c := range s.Claims {
		if r := c.recordToLock(s); r != nil {
			changes, names = append(changes, setRecord(r.on, r)), append(names, "PersistentVolume "+r.on.Name)
		}
	}
	if changes == nil {
		return nil, nil
	}
	return did(changes, "Note on %s that rollback %s is unfinished", joined(names), s.lock.ID), nil
}

// recordToLock returns the record of what is undone with the lock of the undo, while nothing else can have it: there is neither a workload
// nor the PVC. Nil: the lock is elsewhere, or there already.
func (c *Claim) recordToLock(s *State) *Record {
	b := c.base
	if s.Workload != nil || c.pvc != nil || c.record != nil || b == nil || b.Finished != nil || b.Lock != nil && b.Lock.ID == s.lock.ID {
		return nil
	}
	r := *b
	r.Lock = s.renewed(1)
	return &r
}

// renewals are the changes that renew the time of the last step. They go first: if another run has taken the lock
// meanwhile, they fail, and so nothing else is done. A run may have stood still since it has read, so the lock is renewed before
// each step that changes something; but not before the first one of a run if an earlier run has just done so, or runs that are
// killed after each request would make no progress.
func (s *State) renewals(step *Step) (changes []change.Change) {
	if step.Releases || s.lock == nil {
		return nil
	}
	changed := func(o client.Object) bool {
		return slices.ContainsFunc(step.Changes, func(c change.Change) bool { return c.Of(o) })
	}
	for _, o := range s.locked() {
		if l, _ := lockOn(o); s.outdated(l, step) && !changed(o) {
			changes = append(changes, change.Annotate(o, map[string]any{v1alpha1.AnnotationRollback: s.renewed(step.Number).text()}))
		}
	}
	for _, c := range s.Claims { // while the PVC does not exist
		if s.Workload == nil && c.pvc == nil && c.record != nil && s.outdated(c.record.Lock, step) && !changed(c.record.on) {
			r := *c.record
			r.Lock = s.renewed(step.Number)
			changes = append(changes, setRecord(r.on, &r))
		}
	}
	return changes
}

// outdated returns whether the lock has to be renewed before a step.
func (s *State) outdated(l *Lock, step *Step) bool {
	switch {
	case l == nil || l.ID != s.lock.ID:
		return false
	case s.Own != nil && len(step.Changes) > 0, l.Step != step.Number, l.User != s.User:
		return true
	}
	return s.Now.Sub(l.Time.Time) >= renewLockAfter || l.Time.After(s.Now)
}

// releaseLock is done after everything else.
func releaseLock(s *State, _ *Claim) (*Step, error) {
	var changes []change.Change
	for _, o := range s.locked() {
		if l, _ := lockOn(o); l != nil && l.ID == s.lock.ID {
			changes = append(changes, change.Annotate(o, map[string]any{v1alpha1.AnnotationRollback: nil}))
		}
	}
	if changes == nil {
		return nil, nil
	}
	step := did(changes, "Rollback %s is finished", s.lock.ID)
	step.Releases = true
	return step, nil
}
