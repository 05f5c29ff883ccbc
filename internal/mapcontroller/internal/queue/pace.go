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
// deletes. Each namespace has a reservation, which one of its keys holds while the others wait; its
// parents share it. So many parents in one namespace do not delay another namespace. A
// reservation is for the keys that wait, too, up to a burst: many keys with one delete each get as much as
// one key with many. It has a time of its own, so that many that wait do not wake one another.
type Pace struct {
	// Wake enqueues the key that may delete next. It is called under the lock, and must not call
	// the Pace.
	Wake func(plan.Request)

	clock clock.PassiveClock
	// limiter is nil if there is no limit.
	limiter *rate.Limiter

	mu           sync.Mutex
	reservations map[types.NamespacedName]*reservation
}

// reservation is that of one namespace. Its holder may delete n from a time on, which is at most wait
// away, and leaves the rest to the next of those waiting.
type reservation struct {
	holder  plan.Request
	n       int
	at      time.Time
	wait    time.Duration
	waiting fair
}

// namespaceOf returns the namespace of a parent; a parent without one has its own reservation.
func namespaceOf(parent types.NamespacedName) types.NamespacedName {
	if parent.Namespace != "" {
		parent.Name = ""
	}
	return parent
}

// reservationExpires is how long a key may leave its reservation unused before another one of the
// namespace gets it.
const reservationExpires = 10 * time.Second

// NewPace returns a Pace of so many deletes per second, in bursts of as many; zero:
// any number.
func NewPace(c clock.PassiveClock, perSecond float64) *Pace {
	p := &Pace{clock: c, reservations: map[types.NamespacedName]*reservation{}}
	if perSecond > 0 {
		p.limiter = rate.NewLimiter(rate.Limit(perSecond), max(1, int(perSecond)))
	}
	return p
}

// Take returns how many of n deletes a key may make now. If these are fewer, it also
// returns when the key may delete next; zero if it is woken then.
func (p *Pace) Take(req plan.Request, n int) (granted int, again time.Time) {
	if p.limiter == nil || n == 0 {
		p.Drop(req)
		return n, again
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.clock.Now()
	t := p.reservations[namespaceOf(req.Parent)]
	if t == nil {
		t = &reservation{}
		p.reservations[namespaceOf(req.Parent)] = t
	}
	if t.at.Sub(now) > t.wait { // the clock was set back
		t.at = now.Add(t.wait)
	}
	if t.holder != req && now.Sub(t.at) < reservationExpires {
		t.waiting.push(req)
		return 0, again
	}
	if t.holder != req || t.n == 0 {
		p.reserve(t, req, n)
	}
	if t.at.After(now) {
		return 0, t.at
	}
	granted = min(n, t.n)
	t.n -= granted
	t.waiting.charge(req.Parent, granted)
	switch {
	case n > granted && t.waiting.len() == 0:
		t.waiting = fair{} // what it has while nobody waits is not held against it
		p.reserve(t, req, n-granted)
		return granted, t.at
	case n > granted:
		t.waiting.push(req)
	}
	p.advance(t, namespaceOf(req.Parent))
	return granted, again
}

// Drop gives up the reservation of a key that has no deletes any more.
func (p *Pace) Drop(req plan.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t := p.reservations[namespaceOf(req.Parent)]; t != nil {
		t.waiting.remove(req)
		if t.holder == req {
			p.advance(t, namespaceOf(req.Parent))
		}
	}
}

// reserve gives a key the namespace's next reservation, with a delete for each that waits.
func (p *Pace) reserve(t *reservation, req plan.Request, n int) {
	now := p.clock.Now()
	t.waiting.remove(req)
	t.holder, t.n = req, min(n+t.waiting.len(), p.limiter.Burst())
	t.wait = p.limiter.ReserveN(now, t.n).DelayFrom(now)
	t.at = now.Add(t.wait)
}

// advance makes the next key the holder, and wakes it. If nothing is left of the reservation, the key
// reserves its own when it knows how much it wants to delete.
func (p *Pace) advance(t *reservation, name types.NamespacedName) {
	req, ok := t.waiting.pop()
	if !ok {
		delete(p.reservations, name)
		return
	}
	t.holder = req
	if now := p.clock.Now(); t.n == 0 || t.at.Before(now) {
		t.at, t.wait = now, 0
	}
	p.Wake(req)
}
