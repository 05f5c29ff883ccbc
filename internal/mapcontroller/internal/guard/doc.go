// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package guard confirms on live reads what was decided on a cache, before
// anything is deleted or adopted. It also makes the other live reads of its callers.
//
//	guard.go    whether a parent may adopt; the API server's time; pages of live metadata
//	confirm.go  plans again on live objects and keeps the deletes of both plans
//	shared.go   live reads of parents, inputs and related objects, which keys share for a moment
package guard
