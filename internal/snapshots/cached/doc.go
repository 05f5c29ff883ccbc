// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cached is what the caches keep of an object: the fields that decisions read, and nothing that no name, time or
// record can be, however long it is. What many objects have in common is stored once. Objects are stripped in place, and
// those that were stripped before stay as they are; objects of other types, too.
//
//	strip.go   which fields are kept of snapshots, members, group snapshots, classes and schedules
//	intern.go  shares what is equal in the snapshots of a PVC
//	claims.go  which fields are kept of PVCs, and shares what is equal in them
package cached
