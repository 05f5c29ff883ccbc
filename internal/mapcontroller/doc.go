// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package mapcontroller is MapController, in process: for every input object
// that a parent's selector matches, keep some output objects, owned by the
// parent and tagged with the key of the input that they came from.
//
// It knows parents, inputs, outputs, map keys and tombstones, and nothing of
// what they stand for. A user gives it kinds as data and two pure functions,
// Map and Tombstone, in the place of the proposal's webhooks.
//
//	watch event ─▶ route ─▶ Request{Parent, MapKey} ─▶ queue ─▶ worker
//	                                                   │ read (cache, by index): parent, input, outputs of this key
//	                                                   ▼
//	                          input selected? ─ yes ─▶ Map       ─▶ desired outputs, next look
//	                                          └ no ──▶ Tombstone ─▶ which to keep,   next look
//	                                                   ▼
//	              diff ─▶ plan{create, update, delete} ─▶ confirm deletes live ─▶ apply ─▶ RequeueAfter
//	                                                   │
//	                                                   ▼ a small summary of the key
//	                          ledger (folds it in) ─▶ status: debounced, one write, if it changed
//
// Work is keyed by (parent, map key): the event of one object costs the same
// however many others there are, keys run in parallel, and the error of one
// backs off alone.
//
// Where to read on:
//
//	mapcontroller.go  what a user gives: kinds, functions, options
//	route.go          which requests an event means
//	reconcile.go      one pass over one request
//	claim.go          ownership: adopt, release, leave alone
//	plan.go           the difference between observed and desired
//	confirm.go        what is read again, live, before anything is deleted
//	apply.go          the only writer
//	retries.go        when to try again what failed
//	ledger.go         the summaries of all keys, folded
//	status.go         the parent's status
//	stores.go         the caches, read where they lie
//	pages.go          how they are filled
//	assemble.go       how the parts are put together, with a manager or without
//	setup.go          how it all is started, also where a kind is missing
package mapcontroller
