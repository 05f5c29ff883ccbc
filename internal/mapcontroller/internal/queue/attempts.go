// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/plan"
)

// The delays between attempts at a write that fails: doubled from the first to the last.
const (
	FirstRetry = time.Second
	LastRetry  = 5 * time.Minute
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

	mu   sync.Mutex
	keys map[plan.Request]*attempt
}

// attempt is the state of one key.
type attempt struct {
	// due is when the key must be reconciled again after a pass with an error.
	due time.Time
	// failures back off deletes and ownership changes, each by itself: one that is
	// denied for good must not hold up the others. That of wholePass backs off
	// everything else.
	failures map[types.UID]failure
	// expected are writes that the cache does not show yet, and until when they hold
	// the key back.
	expected map[Expectation]time.Time
}

// wholePass is the key of the failure of a pass, among those of objects.
const wholePass types.UID = ""

// NewAttempts returns Attempts without any state.
func NewAttempts(c clock.PassiveClock) *Attempts {
	return &Attempts{clock: c, keys: map[plan.Request]*attempt{}}
}

// with calls do with the state of a key. Without state it does nothing, unless
// there is something to remember. State with nothing left in it is dropped.
func (a *Attempts) with(req plan.Request, remember bool, do func(*attempt)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.keys[req]
	if s == nil {
		if !remember {
			return
		}
		s = &attempt{failures: map[types.UID]failure{}, expected: map[Expectation]time.Time{}}
		a.keys[req] = s
	}
	do(s)
	if len(s.failures) == 0 && len(s.expected) == 0 {
		delete(a.keys, req)
	}
}

// Known returns whether a key has state. Most have none.
func (a *Attempts) Known(req plan.Request) (known bool) {
	a.with(req, false, func(*attempt) { known = true })
	return known
}

// Drop drops the state of a key.
func (a *Attempts) Drop(req plan.Request) { a.with(req, false, func(s *attempt) { *s = attempt{} }) }

// When implements workqueue.TypedRateLimiter. It only reads: the queue calls it
// under its lock, and more than once for a pass.
func (a *Attempts) When(req plan.Request) time.Duration {
	delay := FirstRetry
	a.with(req, false, func(s *attempt) {
		// A time that is long past is that of an earlier pass: this one panicked.
		if due := s.due.Sub(a.clock.Now()); due > -FirstRetry {
			delay = due
		}
	})
	return bounded(delay)
}

// Forget implements workqueue.TypedRateLimiter. Whether a key has state does not
// depend on the queue.
func (a *Attempts) Forget(plan.Request) {}

// NumRequeues implements workqueue.TypedRateLimiter.
func (a *Attempts) NumRequeues(req plan.Request) (n int) {
	a.with(req, false, func(s *attempt) { n = s.failures[wholePass].n })
	return n
}

// bounded keeps a delay above zero, which would mean never, and within
// LongestDelay.
func bounded(delay time.Duration) time.Duration {
	return min(max(delay, time.Millisecond), LongestDelay)
}

// Pass is what a pass leaves to the next one.
type Pass struct {
	// Failed is set if the pass has to be tried again.
	Failed bool
	// Next is when the decision changes by time alone; zero: never.
	Next time.Time
	// Wanted are the objects that the plan deletes, adopts or releases.
	Wanted []client.Object
	// DeleteAt is when the key may delete next; zero: it has no reservation. Waits is set if
	// deletes wait for one, or creates until they may be made: what failed may still fail.
	DeleteAt time.Time
	Waits    bool
}

// Finish ends a pass and returns the delay until the next one. Attempts at
// writes that are no longer wanted are forgotten.
func (a *Attempts) Finish(req plan.Request, p Pass) time.Duration {
	now := a.clock.Now()
	delay := LongestDelay
	sooner := func(at time.Time) {
		if !at.IsZero() {
			delay = min(delay, at.Sub(now))
		}
	}
	sooner(p.Next)
	sooner(p.DeleteAt)
	a.with(req, p.Failed, func(s *attempt) {
		if p.Failed {
			s.failures[wholePass] = s.failures[wholePass].again(now, nil)
		} else if !p.Waits {
			delete(s.failures, wholePass)
		}
		for uid, f := range s.failures {
			if uid != wholePass && !slices.ContainsFunc(p.Wanted, func(o client.Object) bool { return o.GetUID() == uid }) {
				delete(s.failures, uid)
			} else if f.waits(now) {
				sooner(f.until)
			}
		}
		s.due = now.Add(bounded(delay))
	})
	return bounded(delay)
}

// Failed backs off the writes of an object.
func (a *Attempts) Failed(req plan.Request, uid types.UID, err error) {
	a.with(req, true, func(s *attempt) { s.failures[uid] = s.failures[uid].again(a.clock.Now(), err) })
}

// Succeeded ends the backoff of an object.
func (a *Attempts) Succeeded(req plan.Request, uid types.UID) {
	a.with(req, false, func(s *attempt) { delete(s.failures, uid) })
}

// BackingOff returns how often a write of an object failed, zero if it is due again; and the
// error of the last attempt, if a user should know it.
func (a *Attempts) BackingOff(req plan.Request, uid types.UID) (attempts int, err error) {
	a.with(req, false, func(s *attempt) {
		if f := s.failures[uid]; f.waits(a.clock.Now()) {
			attempts, err = f.n, f.err
		}
	})
	return attempts, err
}

// failure is how often something failed, when to try it again, and why it failed
// the last time, if a user should know it.
type failure struct {
	n     int
	until time.Time
	err   error
}

func (f failure) waits(now time.Time) bool { return left(f.until, now, LastRetry) > 0 }

// again returns the failure after one more. The delay grows with the attempts
// that were due, not with those that an event caused: otherwise a key with many
// events would soon wait for the longest.
func (f failure) again(now time.Time, err error) failure {
	f.err = err
	if !f.waits(now) {
		f.until = now.Add(min(FirstRetry<<min(f.n, 16), LastRetry))
		f.n++
	}
	return f
}

// left returns the time left until a time that was set at most longest ahead. It
// is none if the clock was set back.
func left(until, now time.Time, longest time.Duration) time.Duration {
	if d := until.Sub(now); d > 0 && d <= longest {
		return d
	}
	return 0
}

// expectationTimeout bounds how long a key waits for the cache to show a write.
// It matters only if the event never comes, as when a watch is broken.
const expectationTimeout = 10 * time.Second

// Expectation is a write that is not seen in the cache yet. Holding the key back
// saves requests and nothing else: a write that is made twice finds its name
// taken or its precondition failed.
//
// client.CacheOptions.EnableReadYourWritesConsistency does not take its place. There a list
// waits, in its worker, for the writes of all keys: creates that hang in one namespace would
// hold up every other. It needs the resourceVersions in responses, and those of creates are
// not decoded. Nor does it tell our own deletes from those of others, which cost a search.
type Expectation struct {
	ID plan.ID
	// Deleted expects the object to be deleted, or to be being deleted.
	Deleted bool
}

// Expect must be called before the write: the event may come before the
// response. It returns whether the key did not expect it yet.
func (a *Attempts) Expect(req plan.Request, x Expectation) (first bool) {
	a.with(req, true, func(s *attempt) {
		_, again := s.expected[x]
		first, s.expected[x] = !again, a.clock.Now().Add(expectationTimeout)
	})
	return first
}

// Seen reports that what a key may expect is seen in the cache, or will not be. It returns
// whether the key expected it.
func (a *Attempts) Seen(req plan.Request, x Expectation) (expected bool) {
	a.with(req, false, func(s *attempt) {
		_, expected = s.expected[x]
		delete(s.expected, x)
	})
	return expected
}

// Expects returns for how long to hold a key back at most; zero: not at all.
func (a *Attempts) Expects(req plan.Request) (longest time.Duration) {
	now := a.clock.Now()
	a.with(req, false, func(s *attempt) {
		for x, until := range s.expected {
			wait := left(until, now, expectationTimeout)
			if wait == 0 && !x.Deleted { // see Unseen
				delete(s.expected, x)
			}
			longest = max(longest, wait)
		}
	})
	return longest
}

// Unseen returns whether a key has made a write that the cache has not shown yet, however long that takes: while a watch is
// broken, an object looks as if nobody had deleted it.
func (a *Attempts) Unseen(req plan.Request, x Expectation) (unseen bool) {
	a.with(req, false, func(s *attempt) { _, unseen = s.expected[x] })
	return unseen
}
