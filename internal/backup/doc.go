// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package backup reads VolumeSnapshots, VolumeGroupSnapshots and their members: nobody else reads these fields, so that
// one rule says what is ready, cut, failed, held, or of which PVC and slot. It is pure. It reads what the API server has as well
// as what the cache keeps of it.
//
//	backup.go       a snapshot, or a group snapshot, as decisions see it: ready, cut, slot, hold
//	drill.go        what a drill of a snapshot wrote into it
//	drivererror.go  what the driver says about a snapshot
//	group.go        the record of a group snapshot, its map key, its selector and its members
//	volume.go       of which volume a snapshot is
package backup
