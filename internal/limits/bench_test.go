// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"fmt"
	"testing"
	"time"
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
					g.Seen(start, cut, uncutSince(start))
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

// BenchmarkManyGroupsWait is what a call costs while groups wait that find no room, of one namespace or of as many as there are groups.
func BenchmarkManyGroupsWait(b *testing.B) {
	for _, waiting := range []int{0, 100, 10_000} {
		for _, namespaces := range []int{1, max(1, waiting)} {
			b.Run(fmt.Sprintf("%d groups of %d namespaces wait", waiting, namespaces), func(b *testing.B) {
				g := newTester(10)
				for i := range 10 {
					g.ask(fmt.Sprintf("slow/s/%d", i))
				}
				of := func(i int) (Request, Snapshot) {
					name := fmt.Sprintf("evil-%d/s-%d/g", i%namespaces, i)
					s := snapshotOf(name)
					s.Volumes = []string{name + "/0", name + "/1"}
					return key(name), s
				}
				for i := range waiting {
					req, s := of(i)
					g.create(req, s, start)
				}
				for i := 0; b.Loop(); i++ {
					g.now = g.now.Add(time.Second)
					g.ask(fmt.Sprintf("victim/s/%d", i%100))
					if waiting > 0 {
						req, s := of(i % waiting)
						g.create(req, s, start)
					}
					g.woken = nil
				}
			})
		}
	}
}
