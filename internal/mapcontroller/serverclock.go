// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package mapcontroller

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// ErrClockSkew says that the API server's clock and ours differ by more than
// is allowed, or that the API server's is not known.
var ErrClockSkew = errors.New("the clock cannot be trusted")

// ServerClock is a transport that reads the API server's clock off its answers
// (HTTP Date), for requests whose context asks for it.
type ServerClock struct {
	Base  http.RoundTripper
	Clock clock.PassiveClock
}

// RoundTrip implements http.RoundTripper.
func (s ServerClock) RoundTrip(r *http.Request) (*http.Response, error) {
	p, ok := r.Context().Value(skewKey{}).(*skew)
	if !ok {
		return s.Base.RoundTrip(r)
	}
	sent := s.Clock.Now()
	resp, err := s.Base.RoundTrip(r)
	if err == nil {
		p.observe(sent, s.Clock.Now(), resp.Header.Get("Date"))
	}
	return resp, err
}

type skewKey struct{}

// skew collects the largest difference of clocks over some requests.
type skew struct {
	mu      sync.Mutex
	seen    bool
	unknown bool
	largest time.Duration
}

func withSkew(ctx context.Context) (context.Context, *skew) {
	s := &skew{}
	return context.WithValue(ctx, skewKey{}, s), s
}

// observe takes the least difference that explains an answer: it was stamped
// within a whole second at some time between sent and received, so a slow
// answer is no skew.
func (s *skew) observe(sent, received time.Time, date string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	stamped, err := http.ParseTime(date)
	if err != nil {
		s.unknown = true
		return
	}
	s.seen = true
	ahead := sent.Sub(stamped.Add(time.Second)) // our clock is ahead by at least this
	behind := stamped.Sub(received)
	s.largest = max(s.largest, ahead, behind)
}

// beyond tells whether the clocks differ by more than is allowed, or whether
// that is not known.
func (s *skew) beyond(allowed time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.seen || s.unknown || s.largest > allowed
}
