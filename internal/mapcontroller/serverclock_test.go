// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package mapcontroller

import (
	"context"
	"net/http"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

// Contract: GUARD-7.
func TestSkew(t *testing.T) {
	const allowed = time.Minute
	date := func(after time.Duration) string { return testNow.Add(after).Format(http.TimeFormat) }
	type answer struct {
		took time.Duration
		date string
	}
	for name, test := range map[string]struct {
		answers []answer
		want    bool
	}{
		"no answer":                             {want: true},
		"the same clock":                        {answers: []answer{{0, date(0)}}},
		"within what is allowed":                {answers: []answer{{0, date(allowed)}}},
		"the server is ahead":                   {answers: []answer{{0, date(allowed + time.Second)}}, want: true},
		"the server is behind":                  {answers: []answer{{0, date(-allowed - 2*time.Second)}}, want: true},
		"a whole second is cut off":             {answers: []answer{{0, date(-allowed - time.Second)}}},
		"a slow answer, stamped when sent":      {answers: []answer{{10 * time.Minute, date(0)}}},
		"a slow answer, stamped when received":  {answers: []answer{{10 * time.Minute, date(10 * time.Minute)}}},
		"a slow answer of a server ahead":       {answers: []answer{{time.Minute, date(3 * time.Minute)}}, want: true},
		"no date":                               {answers: []answer{{0, ""}}, want: true},
		"not a date":                            {answers: []answer{{0, "yesterday"}}, want: true},
		"one of several answers without a date": {answers: []answer{{0, date(0)}, {0, ""}}, want: true},
		"the worst of several answers":          {answers: []answer{{0, date(0)}, {0, date(time.Hour)}, {0, date(0)}}, want: true},
		"ten years ahead":                       {answers: []answer{{0, date(10 * 365 * 24 * time.Hour)}}, want: true},
		"1970":                                  {answers: []answer{{0, time.Unix(0, 0).UTC().Format(http.TimeFormat)}}, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			_, s := withSkew(context.Background())
			for _, a := range test.answers {
				s.observe(testNow, testNow.Add(a.took), a.date)
			}
			if got := s.beyond(allowed); got != test.want {
				t.Errorf("got %v, want %v (largest %s)", got, test.want, s.largest)
			}
		})
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Only requests that ask for it are looked at.
func TestServerClock(t *testing.T) {
	transport := ServerClock{Clock: clocktesting.NewFakePassiveClock(testNow), Base: roundTripper(
		func(*http.Request) (*http.Response, error) {
			return &http.Response{Body: http.NoBody, Header: http.Header{"Date": {testNow.Format(http.TimeFormat)}}}, nil
		})}
	send := func(ctx context.Context) {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://test.invalid", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := transport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
	}
	send(context.Background())
	ctx, s := withSkew(context.Background())
	if !s.beyond(time.Minute) {
		t.Error("a clock that was not seen is trusted")
	}
	send(ctx)
	if s.beyond(time.Minute) {
		t.Error("a clock that was seen is not trusted")
	}
}
