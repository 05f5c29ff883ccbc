// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package judge judges operators by the guarantees to their users, S1 to S9 and L1, and by clauses of the contract. It reads what the API
// server holds at the moment of a write, never an operator's memory or logs. Slots and retention are implemented again, from the
// contract's text, so that no mistake of the product is repeated.
//
//	judge.go      AtWrite, which judges every write while it passes
//	snapshot.go   writes of snapshots
//	limits.go     creates, and what the storage can take
//	schedule.go   writes of schedules, among them the children of ClusterSnapshotSchedules
//	endstate.go   what is left at the end of a run
//	status.go     whether status agrees with what there is
//	late.go       what should have been done by now
//	state.go, slots.go, retention.go
//	              the contract
package judge

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// AtWrite judges the writes of operators while they pass: it reads what the API server holds at that moment, in which nobody else
// writes. It judges S1 to S5, S7, S8, S9, Slot, STAT-12, FLIGHT-1, LIMIT-2 to LIMIT-4, RET-16 and the FLEET clauses.
type AtWrite struct {
	// Objects reads what the API server holds of the run.
	Objects func(context.Context) ([]client.Object, error)
	// Namespace is the run's; a ClusterSnapshotSchedule has its name.
	Namespace string
	// ClockIsWrong returns whether the clocks of the operator and of the API server differ.
	ClockIsWrong func() bool
	// Limits are those of the run's driver.
	Limits Limits
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
	// adopted are the schedules that the operators adopted: that may be undone.
	adopted map[types.UID]bool
	// versions are all that schedules, fleets and namespaces have been so far: what is written may be what was right once.
	versions versions
}

// NewAtWrite returns an AtWrite that has seen nothing.
func NewAtWrite(objects func(context.Context) ([]client.Object, error), namespace string, clockIsWrong func() bool) *AtWrite {
	return &AtWrite{
		Objects: objects, Namespace: namespace, ClockIsWrong: clockIsWrong,
		lost: map[slot]*v1alpha1.SnapshotSchedule{}, creators: map[string]time.Time{},
		deleters: map[types.UID]time.Time{}, adopted: map[types.UID]bool{},
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
func (j *AtWrite) Write(ctx context.Context, a Attempt) (answered func(code int)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	objects, err := j.Objects(ctx)
	if err != nil {
		j.fail("cannot be judged", "%s %s %s: %v", a.Verb, a.Resource, a.Name, err)
		return nothing
	}
	for _, o := range objects {
		j.versions.add(o)
	}
	st := StateOf(objects)
	switch a.Resource {
	case "volumesnapshots":
		return j.snapshot(st, a)
	case "snapshotschedules":
		return j.schedule(ctx, st, a)
	case "clustersnapshotschedules":
		if a.Subresource != "status" {
			j.fail("S1", "%s of ClusterSnapshotSchedule %s, of more than its status", a.Verb, a.Name)
		}
	case "events", "leases":
	default:
		j.fail("S1", "%s of %s %s", a.Verb, a.Resource, a.Name)
	}
	return nothing
}

func (j *AtWrite) fail(clause, format string, args ...any) {
	j.found = append(j.found, clause+": "+fmt.Sprintf(format, args...))
}

// Remember adds what an object has been at some time, if it is of a kind whose versions count: an operator may be shown one that nobody
// wrote in.
func (j *AtWrite) Remember(o client.Object) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.versions.add(o)
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
