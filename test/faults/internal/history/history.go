// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package history records one run of the operator: every change that the API server committed and every request that the operator
// sent. It is plain data, so that the oracles judge a run against a real API server and a simulated one in the same way.
package history

import (
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// History is one run, in the namespaces that belong to it.
type History struct {
	// Began and Ended are the start and the end, by the server's clock.
	Began, Ended time.Time
	// Changes are complete, in the order in which the API server committed them.
	Changes []Change
	// Requests are the operator's, in the order in which it sent them.
	Requests []Request
	// Windows are the conditions that the run imposed on the operator.
	Windows []Window
}

// Change is one write to one object.
type Change struct {
	// Revision is the resulting resourceVersion.
	Revision int64
	// At is when it was committed, by the server's clock.
	At time.Time
	// Before is nil if the object was created, After if it was removed. They are complete SnapshotSchedules, PersistentVolumeClaims,
	// VolumeSnapshots, ClusterSnapshotSchedules or Namespaces.
	Before, After client.Object
	// Request is the index of the operator's request that caused the change, -1 if there is none.
	Request int
}

// Request is one request of the operator, as it was sent and as the API server answered it, whatever the operator saw of the answer.
type Request struct {
	At time.Time
	// Process numbers the operator's processes in a run, from 0.
	Process int
	// Verb, Group and Resource are as in RBAC, with subresources as in "snapshotschedules/status". For a non-resource request Resource
	// is empty and Name is the path.
	Verb, Group, Resource string
	Namespace, Name       string
	// UID and ResourceVersion are the preconditions of a DELETE, empty if there are none.
	UID, ResourceVersion string
	// Body is the request's body.
	Body []byte
	// Unpaged is set for a list that asks for all objects at once.
	Unpaged bool
	// Reached says that the API server received the request; Code is its answer, 0 if it did not receive it.
	Reached bool
	Code    int
	// Seen is the status that the operator received: an injected error or Code, 0 without an answer (a crash, a time-out).
	Seen int
	// Forbidden: refused for lack of a role, not by a quota or a terminating namespace.
	Forbidden bool
	// Answer is the body of a live get, Date the Date header, as the operator received them: what a guard saw.
	Answer []byte
	Date   time.Time
	// Clock is the operator's own clock at the time.
	Clock time.Time
	// Object is the object that a live get returned. A simulation records it in place of Answer.
	Object client.Object
	// Cache is what the operator's cache held when it made the decision that the request belongs to; nil if that was not recorded. All
	// requests of one decision have the same Cache.
	Cache *Cache
}

// Cache says how far the informers of a process had come: the cache holds the changes of a kind among the first so many changes of the
// history, and none that came later.
type Cache struct {
	Schedules, Claims, Snapshots int
}

// Kind is the kind of a window.
type Kind string

const (
	// Skewed: the Date header and the operator's clock differ by more than it tolerates.
	Skewed Kind = "skewed"
	// Unsynced: an operator runs whose caches have not synced.
	Unsynced Kind = "unsynced"
	// Faulty: faults are being injected.
	Faulty Kind = "faulty"
	// Idle: nothing is due and nobody changes anything.
	Idle Kind = "idle"
	// Broken: the PVC named by Object cannot be snapshotted.
	Broken Kind = "broken"
)

// Window is a time in which a condition held. A zero Until means that it is open.
type Window struct {
	Kind        Kind
	From, Until time.Time
	// Process is the process concerned; -1 means all.
	Process int
	// Object is the object concerned, as namespace/name; empty means all.
	Object string
}

// Holds returns whether a time is within the window.
func (w Window) Holds(at time.Time) bool {
	return !at.Before(w.From) && (w.Until.IsZero() || at.Before(w.Until))
}
