// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import "mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/plan"

// line holds keys that wait, each once.
type line struct {
	order []plan.Request
	waits map[plan.Request]bool
}

func (l *line) push(req plan.Request) {
	if l.waits == nil {
		l.waits = map[plan.Request]bool{}
	}
	if !l.waits[req] {
		l.waits[req], l.order = true, append(l.order, req)
	}
}

// leave removes a key. It keeps its place in the order until it would be next.
func (l *line) leave(req plan.Request) { delete(l.waits, req) }

// pop returns the key that has waited longest; not ok if none waits.
func (l *line) pop() (req plan.Request, ok bool) {
	for len(l.order) > 0 && !ok {
		req, l.order = l.order[0], l.order[1:]
		ok = l.waits[req]
		delete(l.waits, req)
	}
	return req, ok
}

func (l *line) len() int { return len(l.waits) }

func (l *line) empty() bool { return l.len() == 0 }
