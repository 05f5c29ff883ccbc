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
