// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package gitops tests the health checks and actions of config/gitops in the engines that run them: gopher-lua for Argo CD, Flux's own
// evaluator, which uses cel-go, and kstatus. The objects that they judge are those that the integration tests read from an API server,
// one of every condition and reason (test/integration/conditions_test.go).
package gitops
