// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package harness is what the end-to-end suites share: a cluster, the operator's program as a child
// process under the shipped ServiceAccount, the audit log with its requests, and the history of a
// namespace's snapshots.
//
// Its functions fail the running spec instead of returning errors.
package harness
