// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package execute writes: outputs, their owners and the parent's finalizer. No
// other code writes outputs. It also remembers, per key, what the next pass
// needs to know of the last one.
//
//	execute.go      carries out a plan, and reports the outcome
//	create.go       creates, and what AlreadyExists means
//	update.go       updates, also of what others change again and again
//	owner.go        adds and removes the parent's controllerRef; the patch that other files write with, too
//	delete.go       confirmed deletes, held to the observed state
//	finalizer.go    the parent's finalizer: releases all outputs of a parent that owns by labels, and holds
//	                a parent whose outputs have not settled
package execute
