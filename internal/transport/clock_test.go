// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"net/http"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"
)

var testNow = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// Contract: GUARD-7.
func TestSkew(t *testing.T) {
	const allowed = time.Minute
	date := func(after time.Duration) string { return testNow.Add(after).Format(http.TimeFormat) }
	type response struct {
		took time.Duration
		date string
	}
	for name, test := range map[string]struct {
		responses []response
		want      bool
	}{
		"no response":                                   {want: true},
		"the same clock":                                {responses: []response{{0, date(0)}}},
		"within the allowed skew":                       {responses: []response{{0, date(allowed)}}},
		"the server is ahead":                           {responses: []response{{0, date(allowed + time.Second)}}, want: true},
		"the server is behind":                          {responses: []response{{0, date(-allowed - 2*time.Second)}}, want: true},
		"behind by the second that the header cuts off": {responses: []response{{0, date(-allowed - time.Second)}}},
		"a slow response, stamped when sent":            {responses: []response{{10 * time.Minute, date(0)}}},
		"a slow response, stamped when received":        {responses: []response{{10 * time.Minute, date(10 * time.Minute)}}},
		"a slow response of a server ahead":             {responses: []response{{time.Minute, date(3 * time.Minute)}}, want: true},
		"no date":                                       {responses: []response{{0, ""}}, want: true},
		"not a date":                                    {responses: []response{{0, "yesterday"}}, want: true},
		"one of several responses without a date":       {responses: []response{{0, date(0)}, {0, ""}}, want: true},
		"the worst of several responses":                {responses: []response{{0, date(0)}, {0, date(time.Hour)}, {0, date(0)}}, want: true},
		"ten years ahead":                               {responses: []response{{0, date(10 * 365 * 24 * time.Hour)}}, want: true},
		"1970":                                          {responses: []response{{0, time.Unix(0, 0).UTC().Format(http.TimeFormat)}}, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			_, s := WithSkew(context.Background())
			for _, a := range test.responses {
				s.observe(testNow, testNow.Add(a.took), a.date)
			}
			if got := s.Beyond(allowed); got != test.want {
				t.Errorf("got %v, want %v (largest %s)", got, test.want, max(s.ahead, s.behind))
			}
		})
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Only requests whose context asks for it are observed.
func TestServerClockObservesRequests(t *testing.T) {
	clock := ServerClock{Clock: clocktesting.NewFakePassiveClock(testNow), Base: roundTripper(
		func(*http.Request) (*http.Response, error) {
			return &http.Response{Body: http.NoBody, Header: http.Header{"Date": {testNow.Format(http.TimeFormat)}}}, nil
		})}
	send := func(ctx context.Context) {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://test.invalid", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := clock.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
	}
	send(context.Background())
	ctx, s := WithSkew(context.Background())
	if !s.Beyond(time.Minute) {
		t.Error("a clock that was not read is trusted")
	}
	send(ctx)
	if s.Beyond(time.Minute) {
		t.Error("a clock that was read is not trusted")
	}
}

// SetupWithManager refuses a manager whose clients do not read the clock.
func TestReadsServerClock(t *testing.T) {
	config := &rest.Config{Host: "http://server.invalid", UserAgent: "wrapped once more"}
	for _, want := range []bool{false, true} {
		if want {
			ReadServerClock(config, clocktesting.NewFakePassiveClock(testNow))
		}
		client, err := rest.HTTPClientFor(config)
		if err != nil {
			t.Fatal(err)
		}
		if got := ReadsServerClock(client.Transport); got != want {
			t.Errorf("got %v, want %v", got, want)
		}
	}
}
