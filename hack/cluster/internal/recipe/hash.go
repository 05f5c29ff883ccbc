// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package recipe

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// buildScheme is increased when the build itself changes in a way that the
// other fields of the cache key do not show.
const buildScheme = 2

// Hash returns the cache key of everything built from these versions for one
// platform.
func (v Versions) Hash(goos, goarch string) string {
	var flags []string
	for _, c := range v.Components() {
		flags = append(flags, v.LDFlags(c))
	}
	// Marshalling plain structs and strings cannot fail.
	b, _ := json.Marshal(struct {
		Scheme       int
		Versions     Versions
		Parts        []Component
		Flags        []string
		Sources      map[string]string
		GOOS, GOARCH string
	}{buildScheme, v, v.Components(), flags, GeneratedSources("kubernetes"), goos, goarch})
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])[:12]
}
