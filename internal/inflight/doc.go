// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package inflight bounds how many snapshots of one driver are uncut at a time, and
// hands out the places in turn. It is pure: times and events go in, answers and the
// keys to wake come out. What it knows comes from the snapshots that exist, so a
// restart loses nothing.
//
//	gate.go   the drivers, and what may happen to them
//	driver.go the places of one driver, and when they end
//	line.go   the keys that wait for a place, and whose turn it is
package inflight
