// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package faults runs the operator under faults, in process, against a real API server, and judges each of its writes while it passes.
// See docs/faults.md.
package faults
