// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package guard

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

// Configure makes the clients of a REST config read the API server's clock.
func Configure(config *rest.Config, c clock.PassiveClock) {
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
	observed, ok := r.Context().Value(skewKey{}).(*skew)
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

// skew collects the largest difference between the clocks over some requests.
type skew struct {
	mu      sync.Mutex
	seen    bool
	largest time.Duration
}

func withSkew(ctx context.Context) (context.Context, *skew) {
	s := &skew{}
	return context.WithValue(ctx, skewKey{}, s), s
}

// observe takes the smallest difference that explains a response. It was stamped
// within a whole second, at some time between sent and received, so that a slow
// response is not taken for skew.
func (s *skew) observe(sent, received time.Time, date string) {
	difference := time.Duration(math.MaxInt64) // not known
	if stamped, err := http.ParseTime(date); err == nil {
		difference = max(sent.Sub(stamped.Add(time.Second)), stamped.Sub(received))
	}
	s.add(difference)
}

func (s *skew) add(difference time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen, s.largest = true, max(s.largest, difference)
}

// beyond returns whether the clocks differ by more than is allowed, or by an
// unknown amount.
func (s *skew) beyond(allowed time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.seen || s.largest > allowed
}
