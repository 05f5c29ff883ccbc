// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

// groups are in the order in which they are run and printed.
var groups = []group{
	{name: "fan-out", about: "many PVCs fall due at once, beside a loop of bare creates", run: fanOut},
	{name: "requests", about: "what is asked of the API server, and what when nothing is to do", audit: true, run: requests},
	{name: "size", about: "memory, and a restart beside a bare list, with more and more snapshots", run: sizes},
	{name: "first", about: "the first snapshot of a new PVC among many", run: first},
	{name: "expiry", about: "very many snapshots expire at once", audit: true, run: expiry},
	{name: "many", about: "many schedules over the same PVCs", run: many},
}
