// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package metrics has the metrics of SnapshotSchedules, as one value: two operators in one
// process share nothing. It knows numbers, and not where they come from.
//
//	metrics.go  what is exported; counters and histograms
//	gauges.go   the gauges of each schedule, read from what its status said
//	leader.go   the gauges of a process that leads: of storage drivers, and of namespaces
package metrics
