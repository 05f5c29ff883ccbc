// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package history is what happened in one run of the operator: every change that
// the API server committed and every request that the operator made. It holds
// values only, so that the oracles judge a run against a real API server and a
// simulated one alike.
package history

import (
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// History is one run, in the namespaces that it had to itself.
type History struct {
	// Began and Ended are the server's times of the first and the last look.
	Began, Ended time.Time
	// Changes are in the order in which the API server committed them, and
	// without a gap.
	Changes []Change
	// Requests are the operator's, in the order in which they were sent.
	Requests []Request
	// Windows are what was done to the operator from outside.
	Windows []Window
}

// Change is one object's step from one resourceVersion to the next.
type Change struct {
	// Revision is the resourceVersion that it made.
	Revision int64
	// At is when it was committed, by the server's clock.
	At time.Time
	// Before is nil for an object that was created, After for one that is gone.
	// They are SnapshotSchedules, PersistentVolumeClaims or VolumeSnapshots, whole
	// as the API server holds them.
	Before, After client.Object
	// Request is the index of the operator's request that made the change; -1 if
	// someone else made it.
	Request int
}

// Request is one request of the operator's, as it left the operator and as the
// API server answered, whatever the operator saw of the answer.
type Request struct {
	At time.Time
	// Process counts the starts of the operator in a run, from 0. Two managers
	// that run at once are two processes.
	Process int
	// Verb and Resource are as in RBAC: "create", "volumesnapshots",
	// "snapshotschedules/status"; Group is empty for the core group. Of a request
	// that is no resource's, Resource is empty and Name the path.
	Verb, Group, Resource string
	Namespace, Name       string
	// UID and ResourceVersion are the preconditions of a DELETE, empty without.
	UID, ResourceVersion string
	// Body is what was sent.
	Body []byte
	// Reached says that the API server had the request; Code is what it answered,
	// 0 if it was never asked.
	Reached bool
	Code    int
	// Seen is what the operator was told: an injected error, or Code. 0 if it
	// was told nothing (a crash, a time-out).
	Seen int
	// Forbidden: refused for lack of a role, not by quota or a terminating
	// namespace.
	Forbidden bool
	// Answer is the object that the operator was shown by a live get, as bytes;
	// and Date the Date header that it was shown. They are what a guard saw.
	Answer []byte
	Date   time.Time
	// Clock is the operator's own clock at the time.
	Clock time.Time
}

// Kind says what a window is about.
type Kind string

const (
	// Skewed: the Date that the operator was shown and its clock differ by more
	// than it is told to bear.
	Skewed Kind = "skewed"
	// Unsynced: an operator runs whose caches have not been filled.
	Unsynced Kind = "unsynced"
	// Faulty: faults are being injected.
	Faulty Kind = "faulty"
	// Idle: nothing falls due and nobody changes anything.
	Idle Kind = "idle"
	// Broken: the PVC named by Object can't be snapshotted by anyone.
	Broken Kind = "broken"
)

// Window is a stretch of time in which something held. A zero Until is open.
type Window struct {
	Kind        Kind
	From, Until time.Time
	// Process is the operator that it is about; -1: all.
	Process int
	// Object names what it is about ("namespace/name"); empty: everything.
	Object string
}

// Holds tells whether a time lies in a window.
func (w Window) Holds(at time.Time) bool {
	return !at.Before(w.From) && (w.Until.IsZero() || at.Before(w.Until))
}
