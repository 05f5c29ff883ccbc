// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package manifests holds the tests of what is rendered for shipping. They need no
// API server.
package manifests
