// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package report turns what was measured into what a person reads: a table in the terminal,
// the same one in a page of the documentation, and JSON for machines.
package report
