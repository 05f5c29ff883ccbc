// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package harness holds what the end-to-end suites share: a cluster to talk to,
// the operator's program as a child process under the shipped ServiceAccount,
// the audit log in which its requests are counted, and the history of the
// snapshots of a namespace as a watch saw it.
//
// Its functions fail the running spec; none of them returns an error that a
// spec would have to look at.
package harness
