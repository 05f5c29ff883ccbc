// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/plan"
)

// The delays between attempts at a write that fails.
const (
	firstRetry = time.Second
	lastRetry  = 5 * time.Minute
)

// LongestDelay is how long a key may go without being reconciled. The queue's
// timers stand still while a machine sleeps, and do not notice a clock that is
// set forward. A pass with nothing to do makes no request.
const LongestDelay = 15 * time.Minute

// Attempts holds the state of keys between passes. A key has state only while
// there is something to remember. It is the queue's rate limiter as well: with
// an error, controller-runtime ignores a Result's RequeueAfter and asks the
// limiter, so the limiter must know what falls due for the key.
type Attempts struct {
	clock clock.PassiveClock
	pace  pace

	mu   sync.Mutex
	keys map[plan.Request]*attempt
}

// attempt is the state of one key.
type attempt struct {
	// due is when the key must be reconciled again after a pass with an error.
	due time.Time
	// retry backs off passes that failed.
	retry backoff
	// objects back off deletes and ownership changes, each by itself: one that is
	// denied for good must not hold up the others.
	objects map[types.UID]failure
	// expected are writes that the cache does not show yet.
	expected map[expectation]time.Time
	turn     turn
}

// NewAttempts returns Attempts that allow so many deletes per second; zero: any
// number.
func NewAttempts(c clock.PassiveClock, deletesPerSecond float64) *Attempts {
	return &Attempts{clock: c, pace: newPace(deletesPerSecond), keys: map[plan.Request]*attempt{}}
}

// Len returns how many keys have state.
func (a *Attempts) Len() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.keys)
}

// change changes the state of a key, and drops it if nothing is left.
func (a *Attempts) change(req plan.Request, do func(*attempt)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.keys[req]
	if s == nil {
		s = &attempt{}
	}
	do(s)
	if s.retry == (backoff{}) && len(s.objects) == 0 && len(s.expected) == 0 && s.turn == (turn{}) {
		delete(a.keys, req)
	} else {
		a.keys[req] = s
	}
}

// known returns whether a key has state. Most have none, and need none made.
func (a *Attempts) known(req plan.Request) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, known := a.keys[req]
	return known
}

// read calls do with the state of a key if it has any.
func (a *Attempts) read(req plan.Request, do func(*attempt)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s := a.keys[req]; s != nil {
		do(s)
	}
}

// ForgetKey drops the state of a key whose parent is gone.
func (a *Attempts) ForgetKey(req plan.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.keys, req)
}

// When implements workqueue.TypedRateLimiter. It only reads: the queue calls it
// under its lock, and more than once for a pass.
func (a *Attempts) When(req plan.Request) time.Duration {
	delay := firstRetry
	a.read(req, func(s *attempt) {
		// A time that is long past is that of an earlier pass: this one panicked.
		if due := s.due.Sub(a.clock.Now()); due > -firstRetry {
			delay = due
		}
	})
	return bounded(delay)
}

// Forget implements workqueue.TypedRateLimiter. Whether a key has state does not
// depend on the queue.
func (a *Attempts) Forget(plan.Request) {}

// NumRequeues implements workqueue.TypedRateLimiter.
func (a *Attempts) NumRequeues(req plan.Request) int {
	n := 0
	a.read(req, func(s *attempt) { n = s.retry.failures })
	return n
}

// bounded keeps a delay above zero, which would mean never, and within
// LongestDelay.
func bounded(delay time.Duration) time.Duration {
	return min(max(delay, time.Millisecond), LongestDelay)
}

// pass is what a pass leaves to the next one.
type pass struct {
	// failed is set if the pass has to be tried again.
	failed bool
	// next is when the decision changes by time alone; zero: never.
	next time.Time
	// wanted are the objects that the plan deletes, adopts or releases.
	wanted map[types.UID]bool
	// deletes is set if deletes were due: without any, a turn that has come would
	// be due again and again.
	deletes bool
}

// finish ends a pass and returns the delay until the next one. Attempts at
// writes that are no longer wanted are forgotten.
func (a *Attempts) finish(req plan.Request, p pass) time.Duration {
	now := a.clock.Now()
	delay := LongestDelay
	sooner := func(at time.Time) {
		if !at.IsZero() {
			delay = min(delay, at.Sub(now))
		}
	}
	sooner(p.next)
	if !p.failed && !a.known(req) {
		return bounded(delay)
	}
	a.change(req, func(s *attempt) {
		if !p.deletes {
			s.turn = turn{}
		}
		switch {
		case p.failed:
			s.retry = s.retry.fail(now)
			sooner(s.retry.until)
		case s.turn == (turn{}):
			// Deletes that wait for their turn may still fail as before.
			s.retry = backoff{}
		}
		for uid, b := range s.objects {
			switch {
			case !p.wanted[uid]:
				delete(s.objects, uid)
			case b.waits(now):
				sooner(b.until)
			}
		}
		sooner(s.turn.at)
		s.due = now.Add(bounded(delay))
	})
	return bounded(delay)
}

// holds returns whether a write of an object failed, and is not due again yet.
func (a *Attempts) holds(req plan.Request, uid types.UID) (held bool) {
	a.read(req, func(s *attempt) { held = s.objects[uid].waits(a.clock.Now()) })
	return held
}

// lastError returns the error of the last attempt to write an object, if a user
// should know it: what has changed or is gone is nobody's failure.
func (a *Attempts) lastError(req plan.Request, uid types.UID) (err error) {
	a.read(req, func(s *attempt) { err = s.objects[uid].err })
	return err
}

// objectFailed backs off the writes of an object.
func (a *Attempts) objectFailed(req plan.Request, uid types.UID, err error) {
	if expected(err) || apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		err = nil
	}
	a.change(req, func(s *attempt) {
		if s.objects == nil {
			s.objects = map[types.UID]failure{}
		}
		s.objects[uid] = failure{backoff: s.objects[uid].fail(a.clock.Now()), err: err}
	})
}

func (a *Attempts) objectDone(req plan.Request, uid types.UID) {
	if !a.known(req) {
		return
	}
	a.change(req, func(s *attempt) { delete(s.objects, uid) })
}

// failure is a write that failed.
type failure struct {
	backoff
	err error
}

// backoff is when to try again what failed, and how often it did.
type backoff struct {
	failures int
	until    time.Time
}

func (b backoff) waits(now time.Time) bool {
	// A wait beyond the longest means that the clock was set back.
	left := b.until.Sub(now)
	return left > 0 && left <= lastRetry
}

// fail returns the backoff after one more failure. The delay grows with the
// attempts that were due, not with those that an event caused: otherwise a key
// with many events would soon wait for the longest.
func (b backoff) fail(now time.Time) backoff {
	if b.waits(now) {
		return b
	}
	delay := min(firstRetry<<min(b.failures, 16), lastRetry)
	return backoff{failures: b.failures + 1, until: now.Add(delay)}
}
