// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package process

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
