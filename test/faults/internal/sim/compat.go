// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

// Stage is the previous name of Environment.
//
// Deprecated: use Environment.
type Stage = Environment

// NewStage is the previous name of NewEnvironment.
//
// Deprecated: use NewEnvironment.
var NewStage = NewEnvironment
