// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"fmt"
	"math/rand/v2"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/history"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/sim/kube"
)

// world is everything there is in a run: a server, its collector, drivers, users,
// operators, and the one time that all of them live by.
type world struct {
	agenda agenda
	now    time.Time
	server *kube.Server
	// changes of each kind are numbers of History.Changes: what watches tell.
	changes [3][]int
	history *history.History

	operators []*operator
	driver    *driver
	collector *collector
	trouble   trouble
	clocks    clocks
	// statusInterval is what operators are started with.
	statusInterval time.Duration
	// statusDelay is how much later their keys wake their status.
	statusDelay time.Duration
	// behind says for each request how far the operator's caches were.
	behind []behind
	// stopped: they made too many requests, and are not started again.
	stopped bool
	// reconciles counts their looks.
	reconciles int

	// chance decides what happens in the world; luck how fast things go and what
	// fails. They are apart so that what operators do changes less of a life.
	chance, luck *rand.Rand
}

// began is when every run begins: a Tuesday, 26 days before Europe, and 5 days
// before North America, sets its clocks forward.
var began = time.Date(2026, 3, 3, 9, 30, 0, 0, time.UTC)

func newWorld(seed uint64) *world {
	w := &world{
		now:     began,
		history: &history.History{Began: began},
		chance:  rand.New(rand.NewPCG(seed, 1)),
		luck:    rand.New(rand.NewPCG(seed, 2)),
	}
	names := rand.New(rand.NewPCG(seed, 3))
	w.server = kube.NewServer(func() time.Time { return w.now }, func() types.UID {
		return types.UID(fmt.Sprintf("%08x-%04x-4%03x-8%03x-%012x",
			names.Uint32(), names.Uint32()&0xffff, names.Uint32()&0xfff, names.Uint32()&0xfff, names.Uint64()&0xffffffffffff))
	})
	w.server.Committed = w.committed
	w.driver = &driver{world: w, modes: map[string]mode{}}
	w.collector = &collector{world: w, looking: map[types.UID]bool{}}
	return w
}

// committed writes a change down and tells those who watch.
func (w *world) committed(k kube.Kind, c history.Change) {
	if k == kube.Namespaces {
		return
	}
	w.changes[k] = append(w.changes[k], len(w.history.Changes))
	w.history.Changes = append(w.history.Changes, c)
	for _, o := range w.operators {
		if o.alive {
			o.watches[k].stir()
		}
	}
	w.driver.saw(k, c)
	w.collector.saw(k, c)
}

// after puts something down for later.
func (w *world) after(d time.Duration, do func()) { w.agenda.add(w.now.Add(d), nil, do) }

// run lets the world go on until a time. It may be called while an operator waits
// for an answer: then what else that lane would do waits as well.
func (w *world) run(until time.Time) {
	var waiting []entry
	for {
		e, ok := w.agenda.next(until)
		if !ok {
			break
		}
		if e.lane != nil && e.lane.busy {
			waiting = append(waiting, e)
			continue
		}
		if at := time.Unix(0, e.at).UTC(); at.After(w.now) {
			w.now = at
		}
		e.do()
	}
	if until.After(w.now) {
		w.now = until
	}
	for _, e := range waiting {
		w.agenda.again(e)
	}
}

// between draws a time from a range.
func between(r *rand.Rand, least, most time.Duration) time.Duration {
	if most <= least {
		return least
	}
	return least + time.Duration(r.Int64N(int64(most-least)))
}

// oneIn is true once in n times.
func oneIn(r *rand.Rand, n int) bool { return r.IntN(n) == 0 }

func pick[T any](r *rand.Rand, all ...T) T { return all[r.IntN(len(all))] }
