// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"slices"
	"time"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/limits"
	"mapcontroller.dev/snapshotschedule/internal/report"
)

// keyStatus is the part of a schedule's status that one PVC adds.
type keyStatus struct {
	// Claim is the PVC's name; empty for one that is not selected, and for a group.
	Claim string
	// group is what a group of PVCs has in place of that; nil for a PVC.
	group *groupStatus
	// LastSnapshot is the newest slot that a snapshot was taken for.
	LastSnapshot time.Time
	// NextSlot is the earliest future slot.
	NextSlot      time.Time
	RecoveryPoint time.Time
	// Pending, Failed and Terminating count snapshots of a selected PVC. The others are ready.
	Pending, Failed, Terminating int32
	// Stuck counts those with data whose deletion does not end, of any PVC.
	Stuck int32
	// SkipReason says why the PVC cannot be snapshotted now.
	SkipReason SkipReason
	Problems   []Problem
	// Paused is set if deletes were due but not safe.
	Paused bool
	// reported is set once the writes of a pass have ended: until then nothing is known
	// about them.
	reported bool
	// due is set while a slot has no snapshot and none is about to be created.
	due bool
	// noneReady is set while a PVC that is not skipped has no ready snapshot.
	noneReady bool
	// retained is set if the data of deleted snapshots stays in the storage.
	retained bool
	// KeptForNow counts snapshots that would be deleted, but for a delay.
	KeptForNow keptForNow

	protection protection
	// noPlace is set if a slot is due, and its snapshot has no place in the volume.
	noPlace bool
	// verified is the last success of a drill of the PVC; nil if there was none.
	verified *time.Time
	// said is what the driver says about the snapshots of a PVC that is not skipped; nil if there is
	// nothing to keep.
	said *said

	// ofDriver is a problem of the schedule that all its PVCs of a driver share; nil: there is none.
	ofDriver *Problem

	// overdue is set if the slot before the latest is not covered either, and a snapshot is about to be created. created is
	// set if one was: if the next pass does not see it, the PVC is still overdue.
	overdue, created bool
	// pending is the slot that waits until its snapshot may be created, or is too old; nil after a create.
	pending *pendingSlot
}

// groupStatus is what only the status of a group of PVCs has.
type groupStatus struct {
	name string
	// parts are its PVCs.
	parts []claimPart
}

// claimPart is the part of a status that a PVC of a group adds.
type claimPart struct {
	name          string
	recoveryPoint time.Time
	protection    protection
	verified      time.Time
}

// noun is the kind of the snapshots.
func (k *keyStatus) noun() string {
	if k.group != nil {
		return "VolumeGroupSnapshot"
	}
	return "VolumeSnapshot"
}

// weight is how many PVCs it is about.
func (k *keyStatus) weight() int { return max(1, len(k.parts())) }

// parts are the PVCs of a group.
func (k *keyStatus) parts() []claimPart {
	if k.group == nil {
		return nil
	}
	return k.group.parts
}

// setPart sets what is known of a PVC of a group, or of the PVC itself.
func (k *keyStatus) setPart(i int, part claimPart) {
	if k.group != nil {
		k.group.parts[i] = part
		return
	}
	k.protection = part.protection
	if at := part.verified; !at.IsZero() {
		k.verified = new(at)
	}
}

// groupName is the name of a group; empty for a PVC.
func (k *keyStatus) groupName() string {
	if k.group == nil {
		return ""
	}
	return k.group.name
}

// name is that of the PVC or the group.
func (k *keyStatus) name() string {
	if k.group != nil {
		return "group " + k.group.name
	}
	return k.Claim
}

// has returns whether a problem in a status is its own.
func (k *keyStatus) has(p v1alpha1.Problem) bool {
	return k.named() && p.PersistentVolumeClaim == k.Claim && p.Group == k.groupName()
}

// named returns whether it is about something that is selected.
func (k *keyStatus) named() bool {
	return k.Claim != "" || k.group != nil
}

// The bounds of the parts of messages, in bytes, so that a whole one has at most
// report.MaxMessage: in an event, a problem follows the name of a PVC, and in a condition
// the first problem, the drivers that are waited for and the first PVC that is skipped
// follow one another.
const (
	maxFirst   = 500
	maxDrivers = 120
)

// withCommand returns a message that ends with a command, if both fit: a part of a command helps nobody.
func withCommand(message, command string) string {
	if len(message)+len(command) > report.MaxProblem {
		return message
	}
	return message + command
}

// skip says why nothing can be taken now, of a PVC or of a group, and returns whether that is so. Nothing more is said then.
func (k *keyStatus) skip(reason SkipReason) bool {
	if k.SkipReason = reason; reason != "" {
		k.RecoveryPoint = time.Time{}
	}
	return reason != ""
}

// clone returns a copy whose problems can be changed.
func (k *keyStatus) clone() *keyStatus {
	c := *k
	c.Problems = slices.Clone(k.Problems)
	return &c
}

// add adds a problem, of the key's PVC if it names none.
func (k *keyStatus) add(p Problem) {
	if p.Claim == "" && p.Group == "" {
		p.Claim, p.Group = k.Claim, k.groupName()
	}
	p.Claim, p.Message = report.Text(p.Claim, report.MaxName), report.Text(p.Message, report.MaxProblem)
	k.Problems = append(k.Problems, p)
	slices.SortFunc(k.Problems, Problem.compare)
}

// addIfNew adds a problem, unless there is one with its reason.
func (k *keyStatus) addIfNew(p Problem) {
	if !slices.ContainsFunc(k.Problems, func(q Problem) bool { return q.Reason == p.Reason }) {
		k.add(p)
	}
}

// count converts a number of objects to the API's type.
func count(n int) int32 {
	return int32(n) //nolint:gosec // etcd holds far fewer than 2^31 objects
}

// combined is what the PVCs of a schedule add up to.
type combined struct {
	LastSnapshot, NextSlot, RecoveryPoint time.Time
	// Due is set while a slot of a PVC has no snapshot, and NoneReady while a PVC has no ready one.
	Due, NoneReady bool
	// Verified is the oldest last success of a drill.
	Verified time.Time
	// Pending, Failed, Terminating and Stuck count snapshots.
	Pending, Failed, Terminating, Stuck int32
	// Skipped and Failing count PVCs.
	Skipped, Failing int
	FirstSkipped     *keyStatus
	// Retained counts the PVCs of which the data of deleted snapshots stays in the storage.
	Retained int
	// Waiting counts the PVCs whose snapshot waits; WaitingFor are their drivers.
	Waiting    int
	WaitingFor []string
	// Refused counts the PVCs, or series, with a write that is refused. FirstRefused need
	// not be one of the worst problems.
	Refused      int
	FirstRefused Problem
	// Problems are the worst; MoreProblems counts the others.
	Problems     []Problem
	MoreProblems int
	Paused       bool
	KeptForNow   keptForNow
	Protections  protections
	// ofDrivers are the problems that PVCs of a driver share.
	ofDrivers []Problem
}

// combine adds up the PVCs of a schedule, and problems of the schedule itself.
func combine(keys []any, problems ...Problem) combined {
	var c combined
	c.addProblems(problems)
	for _, key := range keys {
		k := key.(*keyStatus)
		if k.LastSnapshot.After(c.LastSnapshot) {
			c.LastSnapshot = k.LastSnapshot
		}
		c.NextSlot = earliest(c.NextSlot, k.NextSlot)
		c.RecoveryPoint = earliest(c.RecoveryPoint, k.RecoveryPoint)
		c.Due, c.NoneReady = c.Due || k.due, c.NoneReady || k.noneReady
		c.addVerified(k)
		if k.retained {
			c.Retained += k.weight()
		}
		c.Pending += k.Pending
		c.Failed += k.Failed
		c.Terminating += k.Terminating
		c.Stuck += k.Stuck
		if k.SkipReason != "" {
			c.Skipped += k.weight()
			if c.FirstSkipped == nil || k.name() < c.FirstSkipped.name() {
				c.FirstSkipped = k
			}
		}
		c.addDriver(k)
		if slices.ContainsFunc(k.Problems, Problem.fails) {
			c.Failing += k.weight()
		}
		c.addRefused(k)
		c.Paused = c.Paused || k.Paused
		c.Protections.add(k)
		c.KeptForNow.changed += k.KeptForNow.changed
		c.KeptForNow.adopted += k.KeptForNow.adopted
		c.addProblems(k.Problems)
	}
	return c
}

// addVerified adds the last drills of a key.
func (c *combined) addVerified(k *keyStatus) {
	if k.verified != nil {
		c.Verified = earliest(c.Verified, *k.verified)
	}
	for _, part := range k.parts() {
		c.Verified = earliest(c.Verified, part.verified)
	}
}

// addRefused counts a key of which a write is refused.
func (c *combined) addRefused(k *keyStatus) {
	if i := slices.IndexFunc(k.Problems, Problem.refused); i >= 0 {
		first := c.Refused == 0
		if c.Refused += k.weight(); first || k.Problems[i].compare(c.FirstRefused) < 0 {
			c.FirstRefused = k.Problems[i]
		}
	}
}

// protections counts the PVCs of a schedule by their protection.
type protections struct {
	current, pending, old int
	// firstSlot is the next slot of those that are pending; due is set if one of their first snapshots is due already.
	firstSlot time.Time
	due       bool
	// unsnapshottable counts those that are Bound and skipped.
	unsnapshottable int
	// first is the first of these, by name.
	first *keyStatus
	// worst is the PVC with the oldest recovery point that is old.
	worst *keyStatus
}

func (c *protections) add(k *keyStatus) {
	for _, part := range k.parts() {
		c.add(&keyStatus{
			Claim: part.name, RecoveryPoint: part.recoveryPoint, protection: part.protection,
			NextSlot: k.NextSlot, Pending: k.Pending, due: k.due || k.waits(),
		})
	}
	if k.SkipReason.NotSnapshottable() {
		c.addUnsnapshottable(k)
	}
	switch k.protection {
	case protectionNone:
	case protectionCurrent:
		c.current++
	case protectionPending:
		c.pending++
		c.due = c.due || k.Pending > 0 || k.due || k.waits()
		c.firstSlot = earliest(c.firstSlot, k.NextSlot)
	case protectionOld:
		c.old++
		if w := c.worst; w == nil || k.RecoveryPoint.Before(w.RecoveryPoint) ||
			k.RecoveryPoint.Equal(w.RecoveryPoint) && k.Claim < w.Claim {
			c.worst = k
		}
	}
}

func (c *protections) addUnsnapshottable(k *keyStatus) {
	c.unsnapshottable += k.weight()
	if c.first == nil || k.name() < c.first.name() {
		c.first = k
	}
}

// addDriver adds what a PVC waits for, and what is wrong with its driver's classes.
func (c *combined) addDriver(k *keyStatus) {
	if k.waits() {
		c.Waiting += k.weight()
		if i, known := slices.BinarySearch(c.WaitingFor, k.pending.driver.String()); !known {
			c.WaitingFor = slices.Insert(c.WaitingFor, i, k.pending.driver.String())
		}
	}
	if p := k.ofDriver; p != nil && !slices.Contains(c.ofDrivers, *p) {
		c.ofDrivers = append(c.ofDrivers, *p)
		c.addProblems([]Problem{*p})
	}
}

// addProblems keeps the worst problems, and counts the others.
func (c *combined) addProblems(problems []Problem) {
	for _, p := range problems {
		i, _ := slices.BinarySearchFunc(c.Problems, p, Problem.compare)
		c.Problems = slices.Insert(c.Problems, i, p)
		if len(c.Problems) > report.MaxProblems {
			c.Problems = c.Problems[:report.MaxProblems]
			c.MoreProblems++
		}
	}
}

// pendingSlot is a slot without a snapshot.
type pendingSlot struct {
	slot time.Time
	// driver is the one whose limit the snapshot counts towards, and why says what it waits for.
	driver  driver
	guessed bool
	why     limits.Reason
	// late is set if the slot is too old to be taken.
	late bool
}

// waits returns whether a PVC's snapshot waits.
func (k *keyStatus) waits() bool { return k.pending != nil && !k.pending.late }
