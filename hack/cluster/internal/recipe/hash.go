// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package recipe

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// scheme changes when the way of building changes without a version changing,
// such as new linker flags.
const scheme = 2

// Hash is the cache key of everything built from these versions for one
// platform.
func (v Versions) Hash(goos, goarch string) string {
	var flags []string
	for _, p := range Parts() {
		flags = append(flags, v.LDFlags(p))
	}
	// Marshalling plain structs and strings cannot fail.
	b, _ := json.Marshal(struct {
		Scheme       int
		Versions     Versions
		Parts        []Part
		Flags        []string
		Sources      map[string]string
		GOOS, GOARCH string
	}{scheme, v, Parts(), flags, Generated("kubernetes"), goos, goarch})
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])[:12]
}
