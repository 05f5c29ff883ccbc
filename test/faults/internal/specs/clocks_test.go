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

package specs

import (
	"slices"
	"testing"
)

func TestClocks(t *testing.T) {
	for _, r := range RunClocks(nil, nil) {
		if !r.Passed {
			t.Errorf("%s: %s", r.ID, r.Why)
		}
	}
}

func TestClockPlans(t *testing.T) {
	var ids []string
	for _, p := range ClockPlans() {
		ids = append(ids, p.ID)
	}
	slices.Sort(ids)
	if n := len(ids); n < 20 {
		t.Errorf("%d plans, want 20 at least", n)
	}
	if n := len(slices.Compact(ids)); n != len(ids) {
		t.Errorf("%d ids for %d plans", n, len(ids))
	}
}
