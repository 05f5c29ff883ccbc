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

package sim

import (
	"fmt"
	"testing"
	"time"
)

func TestOne(t *testing.T) {
	for seed := range uint64(40) {
		start := time.Now()
		r := Run(seed)
		took := time.Since(start)
		verbs := map[string]int{}
		for _, q := range r.History.Requests {
			verbs[fmt.Sprintf("%s %s", q.Verb, q.Resource)]++
		}
		t.Logf("seed %d: %v, %d changes, %d requests, %d reconciles %d statuses, %v %d violations", seed, took, len(r.History.Changes), len(r.History.Requests), r.Reconciles, r.Statuses, verbs, len(r.Violations))
		for _, v := range r.Violations {
			t.Logf("VIOLATION seed %d: %s %v %s (change %d, request %d)", seed, v.Oracle, v.At.Sub(began), v.Message, v.Change, v.Request)
		}
	}
}
