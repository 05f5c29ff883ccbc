// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package lab is what the benchmarks stand on: an API server with etcd and nothing else, objects
// that are written straight into etcd, the operator and the bare client as child processes, and
// the eyes that see what they do without stealing CPU from them.
package lab
