// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package report formats what was measured: as a table in the terminal, in a page of the documentation, and as
// JSON.
package report
