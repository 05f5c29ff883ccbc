// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"container/heap"
	"time"
)

// timerQueue holds the timers in the order of their times and, at the same time, in the order in which they were added.
type timerQueue struct {
	heap  timerHeap
	added uint64
}

// timer is a function that is due at a time. A timer of a worker runs only while that worker is not busy.
type timer struct {
	at     int64 // Unix nanoseconds
	number uint64
	worker *worker
	run    func()
}

// worker is the single worker of one of an operator's controllers. It is busy while it waits for the answer to a request.
type worker struct{ busy bool }

func (q *timerQueue) add(at time.Time, w *worker, run func()) {
	q.added++
	heap.Push(&q.heap, timer{at: at.UnixNano(), number: q.added, worker: w, run: run})
}

// next takes out the first timer that is due by a time.
func (q *timerQueue) next(until time.Time) (timer, bool) {
	if len(q.heap) == 0 || q.heap[0].at > until.UnixNano() {
		return timer{}, false
	}
	return heap.Pop(&q.heap).(timer), true
}

// putBack restores a timer that next returned, in its place.
func (q *timerQueue) putBack(t timer) { heap.Push(&q.heap, t) }

type timerHeap []timer

func (h timerHeap) Len() int { return len(h) }

func (h timerHeap) Less(i, j int) bool {
	if h[i].at != h[j].at {
		return h[i].at < h[j].at
	}
	return h[i].number < h[j].number
}

func (h timerHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

func (h *timerHeap) Push(x any) { *h = append(*h, x.(timer)) }

func (h *timerHeap) Pop() any {
	last := len(*h) - 1
	t := (*h)[last]
	(*h)[last] = timer{}
	*h = (*h)[:last]
	return t
}
