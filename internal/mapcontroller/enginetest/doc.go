// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package enginetest tests the engine against a real API server, through its
// exported interface alone and with kinds of its own: a Bucket is the parent,
// ConfigMaps and Secrets are mapped to Widgets and ConfigMaps.
package enginetest
