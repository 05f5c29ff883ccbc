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
