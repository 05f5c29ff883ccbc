// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"math"
	"net/http"
	"sync"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
)

// ServerClock is a transport that reads the API server's clock from the Date
// header of responses to requests whose context asks for it.
type ServerClock struct {
	Base  http.RoundTripper
	Clock clock.PassiveClock
}

// ReadServerClock makes the clients of a REST config read the API server's clock.
func ReadServerClock(config *rest.Config, c clock.PassiveClock) {
	config.Wrap(func(base http.RoundTripper) http.RoundTripper { return ServerClock{Base: base, Clock: c} })
}

// ReadsServerClock returns whether a client's transport reads the API server's
// clock. Without it every delete would be refused as clock skew.
func ReadsServerClock(transport http.RoundTripper) bool {
	if _, ok := transport.(ServerClock); ok {
		return true
	}
	wrapper, ok := transport.(utilnet.RoundTripperWrapper)
	return ok && ReadsServerClock(wrapper.WrappedRoundTripper())
}

// WrappedRoundTripper implements utilnet.RoundTripperWrapper.
func (s ServerClock) WrappedRoundTripper() http.RoundTripper { return s.Base }

// RoundTrip implements http.RoundTripper.
func (s ServerClock) RoundTrip(r *http.Request) (*http.Response, error) {
	observed, ok := r.Context().Value(skewKey{}).(*Skew)
	if !ok {
		return s.Base.RoundTrip(r)
	}
	sent := s.Clock.Now()
	resp, err := s.Base.RoundTrip(r)
	if err == nil {
		observed.observe(sent, s.Clock.Now(), resp.Header.Get("Date"))
	}
	return resp, err
}

type skewKey struct{}

// Skew collects the largest differences between the clocks over some requests.
type Skew struct {
	mu   sync.Mutex
	seen bool
	// ahead and behind say by how much the local clock was, at least.
	ahead, behind time.Duration
	date          time.Time
}

// WithSkew returns a context whose requests are observed.
func WithSkew(ctx context.Context) (context.Context, *Skew) {
	s := &Skew{}
	return context.WithValue(ctx, skewKey{}, s), s
}

// observe takes the smallest difference that explains a response. It was stamped
// within a whole second, at some time between sent and received, so that a slow
// response is not taken for skew.
func (s *Skew) observe(sent, received time.Time, date string) {
	stamped, err := http.ParseTime(date)
	if err != nil {
		s.add(0, math.MaxInt64, time.Time{}) // not known
		return
	}
	end := stamped.Add(time.Second)
	s.add(sent.Sub(end), stamped.Sub(received), end)
}

// AddTo counts what was observed as if the requests had been made in another context,
// too.
func (s *Skew) AddTo(ctx context.Context) {
	ctx.Value(skewKey{}).(*Skew).add(s.ahead, s.behind, s.date)
}

func (s *Skew) add(ahead, behind time.Duration, date time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen, s.ahead, s.behind, s.date = true, max(s.ahead, ahead), max(s.behind, behind), date
}

// Ahead returns by how much the local clock was ahead, at least.
func (s *Skew) Ahead() time.Duration { return s.ahead }

// Date returns the end of the second in which the last response was stamped; zero if
// that is not known.
func (s *Skew) Date() time.Time { return s.date }

// Beyond returns whether the clocks differ by more than is allowed, or by an
// unknown amount.
func (s *Skew) Beyond(allowed time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.seen || max(s.ahead, s.behind) > allowed
}
