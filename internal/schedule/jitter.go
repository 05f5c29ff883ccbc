/*
Copyright 2026 The SnapshotSchedule Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package schedule

import (
	"hash/fnv"
	"time"
)

// Jitter is the offset of a PVC: a stable number of whole seconds in [0, limit),
// spread over PVCs by a hash of the UID, and 0 where limit is shorter than 1s.
//
// The hash must never change: another one would shift every slot of every
// installation on upgrade, and slots are part of snapshot names.
func Jitter(uid string, limit time.Duration) time.Duration {
	seconds := uint64(max(limit, 0) / time.Second)
	if seconds == 0 {
		return 0
	}
	h := fnv.New64a()
	h.Write([]byte(uid))                                  // never fails
	return time.Duration(h.Sum64()%seconds) * time.Second //nolint:gosec // it is below limit
}
