// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"math"
	"time"

	"golang.org/x/time/rate"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/plan"
)

// pace spreads deletes over time, because storage backends leak under bursts of
// deletes. A key that has to wait is given a time of its own, so that many that
// wait do not wake one another.
type pace struct{ limiter *rate.Limiter }

// turn is when a key may delete, and how many.
type turn struct {
	at   time.Time
	wait time.Duration
	n    int
}

func newPace(perSecond float64) pace {
	if perSecond <= 0 {
		return pace{limiter: rate.NewLimiter(rate.Inf, math.MaxInt)}
	}
	return pace{limiter: rate.NewLimiter(rate.Limit(perSecond), max(1, int(perSecond)))}
}

// take returns how many of n deletes a key may make now. If it returns fewer,
// the key has a turn later.
func (a *Attempts) take(req plan.Request, n int) (granted int) {
	a.with(req, n > 0, func(s *attempt) {
		now := a.clock.Now()
		if s.turn == (turn{}) {
			s.turn = a.pace.reserve(now, n)
		}
		if s.turn.at.Sub(now) > s.turn.wait { // the clock was set back
			s.turn.at = now.Add(s.turn.wait)
		}
		if s.turn.at.After(now) {
			return
		}
		granted = min(n, s.turn.n)
		s.turn = turn{}
		if n > granted {
			s.turn = a.pace.reserve(now, n-granted)
		}
	})
	return granted
}

func (p pace) reserve(now time.Time, n int) turn {
	n = min(n, p.limiter.Burst())
	wait := p.limiter.ReserveN(now, n).DelayFrom(now)
	return turn{at: now.Add(wait), wait: wait, n: n}
}
