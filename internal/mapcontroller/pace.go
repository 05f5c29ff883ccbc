/*
Copyright 2026 The SnapshotSchedule Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

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
