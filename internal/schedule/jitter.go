// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"hash/fnv"
	"time"
)

// Jitter returns the offset of a PVC: a stable number of whole seconds in
// [0, limit), derived from a hash of its UID, or 0 if limit is shorter than 1s.
//
// The hash must never change. Slots are part of snapshot names, and another hash
// would shift every slot of every installation on upgrade.
func Jitter(uid string, limit time.Duration) time.Duration {
	seconds := uint64(max(limit, 0) / time.Second)
	if seconds == 0 {
		return 0
	}
	h := fnv.New64a()
	h.Write([]byte(uid))                                  // never fails
	return time.Duration(h.Sum64()%seconds) * time.Second //nolint:gosec // it is below limit
}
