// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle

// Left is the previous name of Overdue.
//
// Deprecated: use Overdue.
var Left = Overdue
