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

package proc

import "testing"

func TestParseStat(t *testing.T) {
	pid, parent, ok := parseStat("4711 (a ) (b) S 42 4711 4711 0 -1 4194560")
	if !ok || pid != 4711 || parent != 42 {
		t.Errorf("got %d, %d, %v", pid, parent, ok)
	}
	for _, text := range []string{"", "4711", "4711 (a)", "4711 (a) S", "x (a) S 42", "4711 (a) S x"} {
		if _, _, ok := parseStat(text); ok {
			t.Errorf("%q was read", text)
		}
	}
}
