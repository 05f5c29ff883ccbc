// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package flux reconciles the sample repository in config/gitops/flux with Flux's own libraries, on a real API server, while the operator runs.
package flux
