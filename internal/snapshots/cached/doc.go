// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cached is what the caches keep of an object: the fields that decisions read, and nothing that no name, time or
// record can be, however long it is. What many objects have in common is stored once. Objects are stripped in place, and
// those that were stripped before stay as they are; objects of other types, too.
//
//	strip.go   which fields are kept of each kind
//	intern.go  shares what is equal in the snapshots of a PVC, and in the PVCs of a driver
package cached
