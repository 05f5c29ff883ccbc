// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"container/heap"
	"time"
)

// agenda is what is still to happen, in the order of time and, at one time, in
// the order in which it was put down.
type agenda struct {
	entries entries
	put     uint64
}

// entry is one thing to come. One with a lane is work of an operator, which does
// one thing at a time on each lane.
type entry struct {
	at   int64 // Unix nanoseconds
	nth  uint64
	lane *lane
	do   func()
}

// lane is one of an operator's controllers.
type lane struct{ busy bool }

func (a *agenda) add(at time.Time, l *lane, do func()) {
	a.put++
	heap.Push(&a.entries, entry{at: at.UnixNano(), nth: a.put, lane: l, do: do})
}

// next returns the first entry that is due by a time.
func (a *agenda) next(until time.Time) (entry, bool) {
	if len(a.entries) == 0 || a.entries[0].at > until.UnixNano() {
		return entry{}, false
	}
	return heap.Pop(&a.entries).(entry), true
}

// again puts back what was taken out.
func (a *agenda) again(e entry) { heap.Push(&a.entries, e) }

type entries []entry

func (e entries) Len() int { return len(e) }

func (e entries) Less(i, j int) bool {
	if e[i].at != e[j].at {
		return e[i].at < e[j].at
	}
	return e[i].nth < e[j].nth
}

func (e entries) Swap(i, j int) { e[i], e[j] = e[j], e[i] }

func (e *entries) Push(x any) { *e = append(*e, x.(entry)) }

func (e *entries) Pop() any {
	last := len(*e) - 1
	x := (*e)[last]
	(*e)[last] = entry{}
	*e = (*e)[:last]
	return x
}
