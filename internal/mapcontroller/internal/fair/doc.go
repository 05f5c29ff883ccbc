// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fair shares what is scarce: workers between namespaces, and the pace of
// deletes between namespaces and then between their parents, so that nobody waits for
// the mass of somebody else's work.
//
//	line.go    keys that wait, in order
//	turns.go   the lines of several parents, who take turns
//	shares.go  how many workers a namespace may hold
//	pace.go    when, and how much, a key may delete
package fair
