// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package status turns the statuses of keys into the status of their parent.
//
//	aggregator.go  the last status of every key of every parent
//	summary.go     what they add up to, and what is not known
//	generic.go     the status of a parent for which nobody computes one
//	writer.go      writes a parent's status: debounced, once, if it changed
//	patch.go       what of a status is written
//	record.go      what of a status is written although the parent changes again and again
//	unwritten.go   the parents whose status could not be written for some time
package status
