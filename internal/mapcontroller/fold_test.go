// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package mapcontroller

import (
	"fmt"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// A fold is the merge of the values that were set last, in any order.
func TestFoldIsALinearMerge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type stats struct{ sum, most int }
		merge := func(a, b stats) stats { return stats{a.sum + b.sum, max(a.most, b.most)} }
		f, values := newFold(merge), map[string]int{}
		steps := rapid.IntRange(0, 100).Draw(t, "steps")
		for range steps {
			key := strconv.Itoa(rapid.IntRange(0, 20).Draw(t, "key"))
			if rapid.IntRange(0, 2).Draw(t, "what") == 0 {
				f.remove(key)
				delete(values, key)
			} else {
				n := rapid.IntRange(1, 1000).Draw(t, "value")
				f.set(key, stats{n, n})
				values[key] = n
			}
			var want stats
			for _, n := range values {
				want = merge(want, stats{n, n})
			}
			if f.all() != want {
				t.Fatalf("got %v, want %v", f.all(), want)
			}
		}
		if leaves := len(f.leaf) + len(f.free); leaves != len(f.nodes)/2 {
			t.Fatalf("%d leaves are used or free, of %d", leaves, len(f.nodes)/2)
		}
	})
}

func BenchmarkFoldSet(b *testing.B) {
	const leaves = 100_000
	f := newFold(func(a, b int) int { return min(a, b) })
	keys := make([]string, leaves)
	for i := range keys {
		keys[i] = fmt.Sprint(i)
		f.set(keys[i], i)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		f.set(keys[i%leaves], i)
	}
}
