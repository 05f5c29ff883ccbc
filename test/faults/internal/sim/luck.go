// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import "time"

// What goes wrong around the operators.

func (l *life) disturbDriver() {
	l.driver.modes[pick(l.chance, l.claims...)] = mode(l.chance.IntN(int(modes)))
}

func (l *life) mendDrivers() {
	if oneIn(l.chance, 2) {
		clear(l.driver.modes)
		return
	}
	delete(l.driver.modes, pick(l.chance, l.claims...))
}

func (l *life) disturbRequests() {
	l.trouble = trouble{
		crashes:  pick(l.chance, 0, 0, 4, 30),
		refusals: pick(l.chance, 0, 2, 6, 20),
		losses:   pick(l.chance, 0, 4, 20),
		delays:   pick(l.chance, 0, 2, 10),
		stale:    oneIn(l.chance, 2),
	}
}

func (l *life) mendRequests() { l.trouble = trouble{} }

func (l *life) freezeWatch() {
	l.freeze(pick(l.chance, between(l.luck, time.Second, time.Minute), between(l.luck, time.Minute, 3*time.Hour),
		between(l.luck, time.Hour, 2*24*time.Hour)))
}

func (l *life) crashNow() {
	for _, o := range l.operators {
		if o.alive {
			l.crash(o)
			return
		}
	}
}

func (l *life) secondOperator() { l.second(between(l.chance, time.Minute, 90*time.Minute)) }

// moveClocks sets the operators' clock and what the server's answers tell, for a
// while: so little that it must be borne, or so much that nothing may be deleted.
func (l *life) moveClocks() {
	if l.busy() {
		l.later(10*time.Second, l.moveClocks) // a jump in the middle of a delete is another matter
		return
	}
	const day = 24 * time.Hour
	off := pick(l.chance, 20*time.Second, -20*time.Second, 40*time.Second, -40*time.Second, 5*time.Minute, -5*time.Minute,
		2*time.Hour, -2*time.Hour, day, -day, 3650*day, -3650*day)
	if oneIn(l.chance, 3) {
		l.setClocks(0, off)
	} else {
		l.setClocks(off, 0)
	}
	l.later(between(l.chance, time.Minute, 2*day), l.rightClocks)
}

func (l *life) rightClocks() {
	if l.busy() {
		l.later(10*time.Second, l.rightClocks)
		return
	}
	l.setClocks(0, 0)
}

// busy tells whether an operator is in the middle of something.
func (w *world) busy() bool {
	for _, o := range w.operators {
		if o.alive && (o.keys.lane.busy || o.status.lane.busy || o.releases.lane.busy) {
			return true
		}
	}
	return false
}
