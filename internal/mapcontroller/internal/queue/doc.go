// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package queue says when a key runs next. It remembers failed writes and due times, and
// shares what is scarce: workers between namespaces, and the pace of deletes between
// namespaces and then between their parents, so that nobody waits for the mass of somebody
// else's work.
//
//	attempts.go  the state of a key between passes; the queue's rate limiter
//	shares.go    how many workers a namespace may hold
//	pace.go      when, and how much, a key may delete
//	fair.go      keys that wait: of one parent in order, of several parents first those of the one that has had least
//	late.go      adds keys that no event adds
package queue
