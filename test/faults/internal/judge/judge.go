// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package judge judges operators by the guarantees to their users, S1 to S9 and L1, and by clauses of the contract. It reads what the API
// server holds at the moment of a write, never an operator's memory or logs. ClusterSnapshotSchedules are not judged. Slots and retention are implemented again, from the
// contract's text, so that no mistake of the product is repeated.
//
//	judge.go      AtWrite, which judges every write while it passes
//	snapshot.go   writes of snapshots
//	inflight.go   creates, and what is in flight
//	schedule.go   writes of schedules
//	status.go     whether status agrees with what there is
//	late.go       what should have been done by now
//	state.go, slots.go, retention.go
//	              the contract
package judge

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// AtWrite judges the writes of operators while they pass: it reads what the API server holds at that moment, in which nobody else
// writes. It judges S1 to S5, S7, S8, S9, Slot, STAT-12, FLIGHT-1 and RET-16.
type AtWrite struct {
	// Objects returns what the API server holds.
	Objects func() []client.Object
	// Namespace is that of all objects.
	Namespace string
	// ClockIsWrong returns whether the clocks of the operator and of the API server differ.
	ClockIsWrong func() bool
	// InFlight is how many snapshots may be uncut, of all PVCs: nothing says of which driver they are. Zero: any number.
	InFlight int
	// Moments returns what guards that have read since a time may have been shown, the latest first. Nil, in tests of other
	// clauses: S2 is not judged.
	Moments func(since time.Time) []Moment

	mu    sync.Mutex
	found []string
	// lost are the slots whose snapshots the operators deleted, with the schedule of then.
	lost map[slot]*v1alpha1.SnapshotSchedule
	// creators says when the operator started that sent the create of a snapshot.
	creators map[string]time.Time
	// deleters says when the operator started that has deleted a snapshot.
	deleters map[types.UID]time.Time
	// versions are all that schedules have been so far: what is written may be what was right once.
	versions versions
}

// NewAtWrite returns an AtWrite that has seen nothing.
func NewAtWrite(objects func() []client.Object, namespace string, clockIsWrong func() bool) *AtWrite {
	return &AtWrite{
		Objects: objects, Namespace: namespace, ClockIsWrong: clockIsWrong,
		lost: map[slot]*v1alpha1.SnapshotSchedule{}, creators: map[string]time.Time{},
		deleters: map[types.UID]time.Time{},
	}
}

// Found returns the violations so far.
func (j *AtWrite) Found() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.found)
}

// Moment is what guards may have been shown in a period.
type Moment struct {
	From, Until time.Time
	Objects     []client.Object
}

// Attempt is a write that is about to be made.
type Attempt struct {
	Verb, Resource, Subresource, Name string
	Body                              []byte
	// Started is when its operator did, and Sees whether that is shown all there is.
	Started time.Time
	Sees    bool
	// Unsynced is set while the caches of its operator are being filled.
	Unsynced bool
	// Read returns whether its operator has read an object live, within the guards' window. Nil: that is not judged.
	Read func(resource, name string) bool
}

func nothing(int) {}

// Write judges a write. What it returns is called with the status code of the answer.
func (j *AtWrite) Write(a Attempt) (answered func(code int)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	st := StateOf(j.Objects())
	j.versions = j.versions.with(st.Schedules)
	switch a.Resource {
	case "volumesnapshots":
		return j.snapshot(st, a)
	case "snapshotschedules":
		return j.schedule(st, a)
	case "events", "leases":
	default:
		j.fail("S1", "%s of %s %s", a.Verb, a.Resource, a.Name)
	}
	return nothing
}

func (j *AtWrite) fail(clause, format string, args ...any) {
	j.found = append(j.found, clause+": "+fmt.Sprintf(format, args...))
}

// snapshot judges a write of a VolumeSnapshot.
func (j *AtWrite) snapshot(st *State, a Attempt) (answered func(code int)) {
	before := Named(st.Snapshots, a.Name)
	switch {
	case a.Verb == "create" && before == nil:
		j.create(st, a)
	case a.Verb == "delete" && before != nil:
		return j.delete(st, a, before)
	case a.Verb == "patch" && before != nil:
		j.patch(st, a, before)
	case a.Verb != "create" && a.Verb != "delete" && a.Verb != "patch":
		j.fail("S1", "%s of VolumeSnapshot %s", a.Verb, a.Name)
	}
	return nothing
}
