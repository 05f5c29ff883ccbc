// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package plan turns an observation of one map key into a plan of writes. It
// is pure: it reads no cache, no clock and no API server.
//
//	types.go   a Program, and what its decisions see and return; the plan
//	kinds.go   input and output kinds, told apart by GroupVersionKind
//	claim.go   which outputs are the parent's, by the ControllerRef laws; nothing else decides it. Which inputs of
//	           a key are selected
//	build.go   the plan: creates, updates, ownership changes, deletes
//	panic.go   the error of a decision that panicked
//	collision.go  a desired output whose name is taken
//	count.go   what a key adds to the parent's counts
package plan
