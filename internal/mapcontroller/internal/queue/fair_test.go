// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"fmt"
	"testing"
)

// In a namespace its parents take turns, however many keys each has.
func TestParentsTakeTurns(t *testing.T) {
	waiting := &fair{}
	for parent, keys := range map[string]string{"p": "abc", "q": "ab", "r": "a"} {
		for _, key := range keys {
			waiting.push(request(parent, string(key)))
		}
	}
	waiting.push(request("p", "a")) // again
	waiting.remove(request("q", "a"))
	waiting.remove(request("s", "a"))
	rounds := []map[string]string{{}, {}, {}}
	for i, round := range rounds {
		for range []int{3, 1, 1}[i] {
			req, ok := waiting.pop()
			if !ok {
				t.Fatal("nobody waits")
			}
			round[req.Parent.Name] = req.MapKey
		}
	}
	if got, want := fmt.Sprint(rounds), "[map[p:a q:b r:a] map[p:b] map[p:c]]"; got != want {
		t.Errorf("turns: %s, want %s", got, want)
	}
	if req, ok := waiting.pop(); ok || waiting.len() > 0 || len(waiting.keys)+len(waiting.order) > 0 {
		t.Errorf("left: %v %+v", req, waiting)
	}
}
