// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package mapcontroller

import (
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/execute"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/guard"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/plan"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/queue"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/status"
)

// What a user of the engine needs from its packages, which nobody else can import.
type (
	Request        = plan.Request
	Tags           = plan.Tags
	Ownership      = plan.Ownership
	Record         = plan.Record
	Input          = plan.Input
	Output         = plan.Output
	Children       = plan.Children
	Program        = plan.Program
	KeyIndex       = plan.KeyIndex
	Observation    = plan.Observation
	Decision       = plan.Decision
	Desired        = plan.Desired
	Removal        = plan.Removal
	Plan           = plan.Plan
	CollisionError = plan.CollisionError
	PanicError     = plan.PanicError
	Outcome        = execute.Outcome
	Failure        = execute.Failure
	Verb           = execute.Verb
	Summary        = status.Summary
	Recording      = status.Recording
	Unwritten      = status.Unwritten
)

// Queue adds to a controller's queue from outside of the controller's own events. Shares keep one namespace from holding all workers.
type (
	Queue[T comparable]  = queue.Late[T]
	Shares[T comparable] = queue.Shares[T]
)

// The verbs of writes that can fail.
const (
	VerbCreate  = execute.VerbCreate
	VerbUpdate  = execute.VerbUpdate
	VerbDelete  = execute.VerbDelete
	VerbAdopt   = execute.VerbAdopt
	VerbRelease = execute.VerbRelease
)

// The errors of an Outcome.
var (
	// ErrNameCollision is of a create: the name is taken. The error itself is a CollisionError.
	ErrNameCollision = plan.ErrNameCollision
	// ErrAdoptionRefused is of an adoption: the parent is not what the cache shows.
	ErrAdoptionRefused = guard.ErrAdoptionRefused
	// ErrClockSkew is why deletes are paused.
	ErrClockSkew = guard.ErrClockSkew
)

// RequestTimeout is longer than the API server takes for a write at most, admission included.
const RequestTimeout = execute.RequestTimeout

// SearchAll is the request that finds outputs that lost their map key unseen. A manager's
// queue has it at the start.
var SearchAll = plan.SearchAll

// What others who read outputs need, to agree with the engine.
var (
	// Refers returns whether an output has an owner reference to a parent, of a controller or not.
	Refers = plan.Refers
	// CollectedWith returns whether the garbage collector deletes an output with its parent:
	// it has no other owner.
	CollectedWith = plan.CollectedWith
	// EachMetadata calls do with the metadata of every live object of a kind, page by page.
	EachMetadata = guard.EachMetadata
)
