// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package members labels the members of group snapshots: the VolumeSnapshots that the snapshot controller makes of the PVCs of a
// group. Until they are labeled, no selector finds them. Decisions depend on labeled members only. It is a plain controller of group
// snapshots: it watches them and the labeled members, lists the other VolumeSnapshots live while a member is missing, and patches labels.
//
//	members.go  when members are sought, and which are labeled
//	cache.go    the labeled members, cached and live; the watches
package members
