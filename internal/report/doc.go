// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package report makes text safe to show. Names, annotations, drivers, webhooks and
// errors contain what their authors write, of any length and with any bytes: whatever of
// it enters a status, an event, a metric label or a terminal passes through here first.
package report
