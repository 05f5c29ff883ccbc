// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import "time"

// groups are run and printed in this order.
var groups = []group{
	{name: "fan-out", about: "many PVCs fall due at once, compared with a loop of creates", run: fanOut},
	{name: "requests", about: "requests per snapshot and when idle", audit: true, run: requests},
	{name: "size", about: "memory with more and more snapshots, and a restart compared with a list", run: sizes},
	{name: "new-pvc", about: "the first snapshot of a new PVC among many", run: newClaims},
	{name: "expiry", about: "thousands of snapshots expire at once", audit: true, run: expiry},
	{name: "schedules", about: "many schedules over the same PVCs", run: manySchedules},
	{name: "million", about: "a million snapshots of 250 schedules (40 minutes, 20 GB of memory)", run: million, timeout: 90 * time.Minute, onDemand: true, uncached: true},
	{name: "storm", about: "many PVCs fall due on a real snapshot stack at its default rate (half an hour)", run: storms, timeout: 90 * time.Minute, onDemand: true, ownCluster: true},
}
