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

package proxy

import (
	"encoding/json"
	"reflect"
)

// satisfies tells whether an object is already as a merge patch wants it.
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
			continue // the precondition
		}
		if value == nil {
			if _, there := object[key]; there {
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
