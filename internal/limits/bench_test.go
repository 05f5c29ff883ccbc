// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"fmt"
	"testing"
)

// BenchmarkSnapshot is what one snapshot costs: its key asks, and it is shown uncut, and
// cut. With a limit, it is one of many keys that wait.
func BenchmarkSnapshot(b *testing.B) {
	for _, limit := range []int{0, 100, 10_000} {
		for _, waiting := range []int{0, 100_000} {
			if limit == 0 && waiting > 0 {
				continue
			}
			b.Run(fmt.Sprintf("limit %d, %d wait", limit, waiting), func(b *testing.B) {
				g, sizes := New(), Sizes{InFlight: limit}
				mayCreate := func(req Request, s Snapshot) (may bool, wake []Wake) {
					why, wake := g.MayCreate(start, Create{Request: req, Snapshot: s, Since: start, Sizes: sizes})
					return why == "", wake
				}
				keys := make([]Request, waiting+limit+1)
				snapshots := map[Request]Snapshot{}
				for i := range keys {
					keys[i] = key(fmt.Sprintf("%d/s/%d", i%100, i))
					snapshots[keys[i]] = snapshotOf(nameOf(keys[i]))
				}
				s := func(req Request) Snapshot { return snapshots[req] }
				var flying []Request
				for _, req := range keys[:waiting+limit] {
					if may, _ := mayCreate(req, s(req)); may {
						flying = append(flying, req)
					}
				}
				flying = append(flying, keys[waiting+limit])
				for b.Loop() {
					first := flying[0]
					flying = flying[1:]
					cut := s(first)
					g.Seen(start, cut, uncutSince(start, cut))
					wake := g.Remove(start, cut.Namespace, cut.Name)
					next := first
					if len(wake) > 0 && wake[0].After == 0 {
						next = wake[0].Request
						mayCreate(first, cut) // it is due again
					}
					mayCreate(next, s(next))
					flying = append(flying, next)
				}
			})
		}
	}
}
