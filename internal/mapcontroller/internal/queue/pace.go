// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/plan"
)

// Pace spreads deletes over time, because storage backends leak under bursts of
// deletes. Namespaces take turns, and in a namespace its parents share them: one key of each
// namespace has a turn, and the others of the namespace wait in line. So many parents
// in one namespace do not delay another namespace. A turn is for the keys in line, too,
// up to a burst: many keys with one delete each get as much as one key with many. It
// has a time of its own, so that many that wait do not wake one another.
type Pace struct {
	// Wake enqueues the key whose turn it is. It is called without any lock.
	Wake func(plan.Request)

	clock clock.PassiveClock
	// limiter is nil if there is no limit.
	limiter *rate.Limiter

	mu    sync.Mutex
	lanes map[types.NamespacedName]*lane
}

// lane has one namespace's keys that want to delete. The first of them may delete n
// from a time on, which is at most wait away, and leaves the rest to the next.
type lane struct {
	first plan.Request
	n     int
	at    time.Time
	wait  time.Duration
	line  turns
}

// laneOf returns the namespace of a parent; a parent without one has its own lane.
func laneOf(parent types.NamespacedName) types.NamespacedName {
	if parent.Namespace != "" {
		parent.Name = ""
	}
	return parent
}

// turnExpires is how long a key may leave its turn unused before another one of the
// namespace gets it.
const turnExpires = 10 * time.Second

// NewPace returns a Pace of so many deletes per second, in bursts of as many; zero:
// any number.
func NewPace(c clock.PassiveClock, perSecond float64) *Pace {
	p := &Pace{clock: c, lanes: map[types.NamespacedName]*lane{}}
	if perSecond > 0 {
		p.limiter = rate.NewLimiter(rate.Limit(perSecond), max(1, int(perSecond)))
	}
	return p
}

// Take returns how many of n deletes a key may make now. If these are fewer, it also
// returns when the key has its next turn; zero if it will be woken.
func (p *Pace) Take(req plan.Request, n int) (granted int, again time.Time) {
	if p.limiter == nil || n == 0 {
		p.Leave(req)
		return n, again
	}
	granted, again, next := p.take(req, n)
	p.wake(next)
	return granted, again
}

func (p *Pace) take(req plan.Request, n int) (granted int, again time.Time, next []plan.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.clock.Now()
	l := p.lanes[laneOf(req.Parent)]
	if l == nil {
		l = &lane{}
		p.lanes[laneOf(req.Parent)] = l
	}
	if l.at.Sub(now) > l.wait { // the clock was set back
		l.at = now.Add(l.wait)
	}
	if l.first != req && now.Sub(l.at) < turnExpires {
		l.line.push(req)
		return 0, again, next
	}
	if l.first != req || l.n == 0 {
		p.reserve(l, req, n)
	}
	if l.at.After(now) {
		return 0, l.at, next
	}
	granted = min(n, l.n)
	l.n -= granted
	l.line.charge(req.Parent, granted)
	switch {
	case n > granted && l.line.empty():
		l.line = turns{} // what it has while nobody waits is not held against it
		p.reserve(l, req, n-granted)
		return granted, l.at, next
	case n > granted:
		l.line.push(req)
	}
	return granted, again, p.pass(l, laneOf(req.Parent))
}

// Leave gives up the turn of a key that has no deletes any more.
func (p *Pace) Leave(req plan.Request) {
	p.mu.Lock()
	var next []plan.Request
	if l := p.lanes[laneOf(req.Parent)]; l != nil {
		l.line.leave(req)
		if l.first == req {
			next = p.pass(l, laneOf(req.Parent))
		}
	}
	p.mu.Unlock()
	p.wake(next)
}

// wake reconciles the key whose turn it is, if there is one.
func (p *Pace) wake(next []plan.Request) {
	for _, req := range next {
		p.Wake(req)
	}
}

// reserve gives a key the namespace's next turn, with a delete for each that waits.
func (p *Pace) reserve(l *lane, req plan.Request, n int) {
	now := p.clock.Now()
	l.line.leave(req)
	l.first, l.n = req, min(n+l.line.len(), p.limiter.Burst())
	l.wait = p.limiter.ReserveN(now, l.n).DelayFrom(now)
	l.at = now.Add(l.wait)
}

// pass makes the next key in line the first. If nothing is left of the turn, the key
// reserves its own when it knows how much it wants to delete.
func (p *Pace) pass(l *lane, name types.NamespacedName) (next []plan.Request) {
	req, ok := l.line.pop()
	if !ok {
		delete(p.lanes, name)
		return nil
	}
	l.first = req
	if now := p.clock.Now(); l.n == 0 || l.at.Before(now) {
		l.at, l.wait = now, 0
	}
	return []plan.Request{req}
}
