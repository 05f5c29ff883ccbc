// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package metrics has the metrics of SnapshotSchedules, as one value: two operators in one
// process share nothing. It is given numbers, and reads no objects. From other packages it
// takes the values of labels (verbs, reasons, the version), names, and the type of a count.
//
//	metrics.go  what is exported; counters and histograms
//	gauges.go   the gauges of each schedule, read from what its status said
//	leader.go   the gauges of a process that leads: of storage drivers, and of namespaces
package metrics
