// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import "time"

// crash ends an operator, and has another started in its place.
func (w *world) crash(o *operator) {
	o.die()
	down := between(w.luck, time.Second, time.Minute)
	if oneIn(w.luck, 20) {
		down = between(w.luck, time.Hour, 30*time.Hour)
	}
	w.after(down, func() { w.restart() })
}

// stop ends all operators for good.
func (w *world) stop() {
	w.stopped = true
	for _, o := range w.operators {
		o.die()
	}
}

// restart sees to it that one operator runs.
func (w *world) restart() {
	w.bury()
	if len(w.operators) == 0 && !w.stopped {
		w.start(w.statusInterval, w.lag)
	}
}

// lag is how many changes of a kind the first list of an operator is behind.
// Mostly none: an API server that is behind is rare.
func (w *world) lag() int {
	if !w.trouble.stale || oneIn(w.luck, 2) {
		return 0
	}
	return w.luck.IntN(12)
}

// second starts one more operator beside the one that runs, as happens where the
// lease is lost without being noticed, and ends it after a while.
func (w *world) second(d time.Duration) {
	if len(w.operators) != 1 || w.stopped {
		return
	}
	for _, t := range w.operators[0].watches {
		if t.frozen.After(w.now) {
			return
		}
	}
	o := w.start(w.statusInterval, w.lag)
	w.after(d, func() {
		if o.alive {
			o.die()
			w.restart()
		}
	})
}

// freeze holds back all that an operator's watch is told.
func (w *world) freeze(d time.Duration) {
	for _, o := range w.operators {
		if t := pick(w.luck, o.watches[:]...); o.alive {
			t.freeze(w.longestBlind(t.kind, d))
		}
	}
}

// calm ends all that is wrong: with requests, with clocks, with watches, with
// drivers; and leaves one operator.
func (w *world) calm() {
	w.trouble, w.statusDelay = trouble{}, 0
	w.setClocks(0, 0)
	w.driver.recover()
	w.bury()
	for _, o := range w.operators[min(1, len(w.operators)):] {
		o.die()
	}
	w.restart()
	for _, o := range w.operators {
		for _, t := range o.watches {
			t.frozen, t.stirred = time.Time{}, false
			t.stir()
		}
	}
}
