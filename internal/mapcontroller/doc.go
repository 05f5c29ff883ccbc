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
//	internal/plan       turns what is observed of a key into a plan of writes (pure)
//	internal/guard      confirms on live reads what was decided on a cache
//	internal/execute    carries out plans; the only writer of outputs
//	internal/queue      when a key is reconciled next; what namespaces and parents share
//	internal/lookup     reads parents, inputs, outputs and children from the caches, by index
//	internal/installed  kinds that may be missing
//	internal/status     the statuses of keys, and what they add up to
//
//	../informer   the caches: filled by pages, read in place
//	../transport  pages bounded in bytes; the API server's clock; creates whose responses are not decoded
//
//	internal/fixture              what the unit tests of these packages share: objects, an API server
//	enginetest                    the engine's specs on a real API server
//	enginetest/mutationdetector   makes a suite panic when a cached object is changed
package mapcontroller
