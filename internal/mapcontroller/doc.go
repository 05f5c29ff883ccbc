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
// The example in example_test.go is a whole small controller; docs/contribute/mapcontroller.md
// says how to write one. The packages:
//
//	mapcontroller.go  what a user sets: functions and options; the kinds are in internal/plan/kinds.go
//	door.go           what a user needs from the packages below
//	planner.go        plans without a cache
//	controller.go     a Controller put together from its packages; compiled specs
//	route.go          which keys an event enqueues
//	watch.go          the kinds that are watched, also those that may be missing
//	reconcile.go      one pass over one key; the search for released outputs
//	setup.go          the controllers and caches of a manager
//
//	internal/plan/types.go      a Program, and what its decisions see and return; the plan
//	internal/plan/kinds.go      input and output kinds, told apart by GroupVersionKind
//	internal/plan/claim.go      which outputs are the parent's, by the ControllerRef laws; which inputs of a key are selected
//	internal/plan/build.go      builds the plan
//	internal/plan/collision.go  a desired output whose name is taken
//	internal/plan/panic.go      a decision that panicked
//	internal/plan/count.go      what a key adds to the parent's counts
//
//	internal/guard/guard.go    whether the parent may adopt; the API server's time; pages of live metadata
//	internal/guard/confirm.go  plans again on live objects, keeps the deletes of both plans
//	internal/guard/shared.go   live reads that keys share for a moment
//
//	internal/queue/attempts.go  the state of a key between passes; the queue's rate limiter
//	internal/queue/shares.go    how many workers a namespace may hold
//	internal/queue/pace.go      when, and how much, a key may delete
//	internal/queue/fair.go      keys that wait: of one parent in order, of several parents first those of the one that has had least
//	internal/queue/late.go      adds keys that no event adds
//
//	internal/execute/execute.go    carries out a plan; the only writer of outputs
//	internal/execute/create.go     creates, and what AlreadyExists means
//	internal/execute/update.go     updates, also of what others change again and again
//	internal/execute/owner.go      adds and removes the parent's controllerRef; the patch that other files write with, too
//	internal/execute/delete.go     confirmed deletes, held to the observed state
//	internal/execute/finalizer.go  the parent's finalizer: releases all outputs of a parent that owns by labels, and holds
//	                               a parent whose outputs have not settled
//
//	internal/lookup/lookup.go    reads parents, inputs, outputs and children by index; the key that an output belongs to
//	internal/lookup/keyindex.go  indexes of the inputs that share a key of a program
//	internal/lookup/steady.go    since when the inputs of a key have been the same
//
//	internal/installed/installed.go  kinds that are not installed, or cannot be listed (yet); those that a controller can do without
//
//	internal/status/aggregator.go  the last status of every key of every parent
//	internal/status/summary.go     what they add up to, and what is not known
//	internal/status/generic.go     the status of a parent for which nobody computes one
//	internal/status/writer.go      writes a parent's status: debounced, once, if it changed
//	internal/status/patch.go       what of a status is written
//	internal/status/record.go      what of a status is written although the parent changes again and again
//	internal/status/unwritten.go   the parents whose status could not be written
//
//	../informer   the caches: filled by pages, read in place
//	../transport  pages bounded in bytes; the API server's clock; creates whose responses are not decoded
//
//	internal/fixture              what the unit tests of these packages share: objects, an API server
//	enginetest                    the engine's specs on a real API server
//	enginetest/mutationdetector   makes a suite panic when a cached object is changed
package mapcontroller
