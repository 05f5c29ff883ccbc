// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package mapcontroller is MapController, in process: for every input object
// that a parent selects, it keeps some output objects, owned by the parent and
// labeled with the key of the input that they came from.
//
// It knows parents, inputs, outputs, map keys and tombstones, and nothing about
// what they stand for. A user gives it kinds as data, and a function that
// compiles a parent's spec into two pure functions, Map and Tombstone. They take
// the place of the proposal's webhooks.
//
//	event ─▶ route ─▶ Request{Parent, MapKey} ─▶ queue ─▶ reconcile
//	   compile   the parent's Program, or why its spec is invalid
//	   observe   the inputs of the key, its outputs, related objects: from the informers, by index
//	   decide    Map or Tombstone (pure)
//	   build     the Plan (pure): creates, updates, ownership changes, deletes
//	   execute   the writes; deletes only after they are confirmed live
//	   report    key status ─▶ aggregate ─▶ one debounced status write
//	   requeue   at the next due time, or with the error
//
// Work is keyed by (parent, map key): an event costs the same however many other
// objects there are, keys are reconciled in parallel, and the error of one backs
// off alone.
//
// The example in example_test.go is a whole small controller; docs/mapcontroller.md
// says how to write one. The packages:
//
//	mapcontroller.go  what a user sets: kinds, functions, options
//	controller.go     a Controller put together from its packages; compiled specs
//	route.go          which keys an event enqueues
//	reconcile.go      one pass over one key; the search for released outputs
//	liveness.go       the health check that notices a leader that does nothing
//	setup.go          the controllers and caches of a manager
//
//	observe/observe.go    reads parents, inputs and outputs by index
//
//	plan/types.go         what a decision sees and returns; the plan
//	plan/kinds.go         input and output kinds, told apart by GroupVersionKind
//	plan/claim.go         which outputs are the parent's, by the ControllerRef laws
//	plan/build.go         builds the plan
//	plan/collision.go     a desired output whose name is taken
//	plan/count.go         what a key adds to the parent's counts
//
//	guard/guard.go        whether the parent may adopt; pages of live metadata
//	guard/confirm.go      plans again on live objects, keeps the deletes of both plans
//	guard/shared.go       live reads shared by the keys that delete together
//
//	fair/shares.go        how many workers a namespace may hold
//	fair/pace.go          when, and how much, a key may delete
//	fair/line.go          keys that wait, in order
//
//	execute/execute.go    carries out a plan; the only writer of outputs
//	execute/create.go     creates, and what AlreadyExists means
//	execute/update.go     updates, also of what others change again and again
//	execute/owner.go      adds and removes the parent's controllerRef
//	execute/delete.go     confirmed deletes, held to the observed state
//	execute/attempts.go   the state of a key between passes; the queue's rate limiter
//	execute/finalizer.go  releases all outputs before a parent goes
//
//	installed/installed.go  kinds that are not installed, or cannot be listed (yet)
//
//	status/aggregator.go  the last status of every key of every parent
//	status/summary.go     what they add up to, and what is not known
//	status/writer.go      writes a parent's status: debounced, once, if it changed
//	status/patch.go       what of a status is written
//
//	../informer             the caches: filled by pages, read in place
//
//	internal/fixture        what the unit tests of these packages share: objects, an API server
//	enginetest              the engine's specs on a real API server
package mapcontroller
