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

package lab

import (
	"maps"
	"testing"
)

func TestParseMetrics(t *testing.T) {
	text := "# HELP go_gc_heap_live_bytes x\n# TYPE go_gc_heap_live_bytes gauge\ngo_gc_heap_live_bytes 1.234e+07\n" +
		"workqueue_depth{name=\"a b\"} 3\ngo_gc_cycles_total_gc_cycles_total 12\nodd\n\n"
	want := map[string]float64{liveMetric: 12_340_000, cyclesMetric: 12}
	if got := parseMetrics(text); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
