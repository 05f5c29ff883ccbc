// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package enginetest tests the engine against a real API server, through its exported API and with its own kinds: a Bucket is the
// parent, ConfigMaps and Secrets are the inputs, Widgets and ConfigMaps the outputs.
package enginetest
