// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package informer provides the caches that the engine reads: informers that
// are filled page by page, and their stores, read by index without copies.
//
//	pages.go   fills an informer with pages of a quorum read
//	stores.go  the stores of all informers, by kind, and how they are read
package informer
