// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package proc measures processes of this machine from outside: what they cost in CPU and in
// memory. It needs Linux.
package proc
