// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"encoding/json"
	"reflect"
)

// satisfies reports whether applying a merge patch would not change an object.
func satisfies(object, patch []byte) bool {
	var have, want any
	if json.Unmarshal(object, &have) != nil || json.Unmarshal(patch, &want) != nil {
		return false
	}
	return within(have, want)
}

func within(have, want any) bool {
	fields, ok := want.(map[string]any)
	if !ok {
		return reflect.DeepEqual(have, want)
	}
	object, _ := have.(map[string]any)
	for key, value := range fields {
		if key == "resourceVersion" {
			continue // a precondition
		}
		if value == nil {
			if _, ok := object[key]; ok {
				return false
			}
			continue
		}
		if !within(object[key], value) {
			return false
		}
	}
	return true
}
