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

package lab

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"
)

func watchOf(text string) *Watch {
	w := &Watch{stop: func() {}, ended: make(chan struct{}), seen: map[Event][]time.Time{}, more: make(chan struct{})}
	go w.read(io.NopCloser(strings.NewReader(text)))
	return w
}

func TestWatchCountsLongLinesOnce(t *testing.T) {
	long := `{"type":"ADDED","object":"` + strings.Repeat("x", 1<<19) + `"}` + "\n"
	w := watchOf(long + `{"type":"DELETED","object":{}}` + "\n" + long)
	defer w.Stop()
	if err := w.Await(context.Background(), Added, 2); err != nil {
		t.Fatal(err)
	}
	<-w.ended
	if added, deleted := len(w.Times(Added)), len(w.Times(Deleted)); added != 2 || deleted != 1 {
		t.Errorf("got %d added, %d deleted", added, deleted)
	}
}

func TestWatchTellsItsEnd(t *testing.T) {
	for name, text := range map[string]string{
		"cut":      `{"type":"ADDED","object":{}}` + "\n",
		"an error": `{"type":"ERROR","object":{"code":410}}` + "\n",
		"no event": "404 page not found\n",
	} {
		w := watchOf(text)
		if err := w.Await(context.Background(), Added, 2); err == nil {
			t.Errorf("%s: no error", name)
		}
		w.Stop()
	}
}

func TestAwaitTellsWhyItGaveUp(t *testing.T) {
	stream, _ := io.Pipe()
	w := &Watch{stop: func() { _ = stream.Close() }, ended: make(chan struct{}), seen: map[Event][]time.Time{}, more: make(chan struct{})}
	go w.read(stream)
	defer w.Stop()
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	if err := w.Await(ctx, Added, 1); err == nil || !strings.Contains(err.Error(), "0 of 1") {
		t.Errorf("got %v", err)
	}
}

func TestRate(t *testing.T) {
	at := func(ms int) time.Time { return time.UnixMilli(int64(ms)) }
	if got := rate([]time.Time{at(0), at(10), at(40)}); got != 50 {
		t.Errorf("got %v, want 50: two more in 40 ms", got)
	}
	if got := rate([]time.Time{at(0)}); got != 0 {
		t.Errorf("of one: got %v", got)
	}
}
