// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package mapcontroller

import (
	"testing"
	"time"
)

func TestRetriesGrowWithTheTriesThatWereDue(t *testing.T) {
	r := newRetries()
	req := Request{MapKey: "a"}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	after := func(elapsed, want time.Duration) {
		t.Helper()
		now = now.Add(elapsed)
		if got := r.after(now, req); got != want {
			t.Fatalf("after another %v: waits %v, want %v", elapsed, got, want)
		}
	}
	after(0, time.Second)
	after(0, time.Second) // an event in between
	after(600*time.Millisecond, 400*time.Millisecond)
	after(400*time.Millisecond, 2*time.Second) // the try that was due
	after(2*time.Second, 4*time.Second)
	if got := r.after(now, Request{MapKey: "b"}); got != time.Second {
		t.Errorf("another key waits %v", got)
	}
	after(-24*time.Hour, 8*time.Second) // the clock was set back
	for range 20 {
		now = now.Add(lastRetry)
		if got := r.after(now, req); got > lastRetry {
			t.Fatalf("waits %v, want %v at most", got, lastRetry)
		}
	}
	r.forget(req)
	after(0, time.Second)
}
