// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package mapcontroller

import (
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// pace spreads deletes over time. A key that must wait is given a time of its
// own to come back at, so that many that wait do not wake one another.
type pace struct {
	limiter *rate.Limiter

	mu      sync.Mutex
	granted map[Request]grant
}

type grant struct {
	at   time.Time
	wait time.Duration
	n    int
}

// newPace allows so many deletes in a second, in bursts of as many; zero: any
// number.
func newPace(perSecond float64) *pace {
	limiter := rate.NewLimiter(rate.Inf, math.MaxInt)
	if perSecond > 0 {
		limiter = rate.NewLimiter(rate.Limit(perSecond), max(1, int(perSecond)))
	}
	return &pace{limiter: limiter, granted: map[Request]grant{}}
}

// grant returns how many of n deletes a key may do now, or how long to wait.
func (p *pace) grant(now time.Time, req Request, n int) (int, time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if g, ok := p.granted[req]; ok {
		wait := g.at.Sub(now)
		if wait > g.wait { // the clock was set back
			wait = g.wait
			g.at = now.Add(wait)
			p.granted[req] = g
		}
		if wait > 0 {
			return 0, wait
		}
		delete(p.granted, req)
		return min(n, g.n), 0
	}
	n = min(n, p.limiter.Burst())
	wait := p.limiter.ReserveN(now, n).DelayFrom(now)
	if wait > 0 {
		p.granted[req] = grant{at: now.Add(wait), wait: wait, n: n}
		return 0, wait
	}
	return n, 0
}

func (p *pace) forget(req Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.granted, req)
}
