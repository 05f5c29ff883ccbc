// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package docs holds the tests that keep README.md and docs true to the code. They
// need no API server.
package docs
