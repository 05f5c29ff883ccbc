// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"
)

const filler = 1 << 19 // longer than the reader's buffer

func line(event Event, version string, long int) string {
	return `{"type":"` + string(event) + `","object":{"metadata":{"resourceVersion":"` + version + `"},"x":"` +
		strings.Repeat("x", long) + "\"}}\n"
}

// watchOf reads one stream after the other.
func watchOf(t *testing.T, streams ...string) (w *Watch, from *[]string) {
	t.Helper()
	from = &[]string{}
	ctx, stop := context.WithCancel(context.Background())
	w = newWatch("0", stop, func(version string) (io.ReadCloser, error) {
		*from = append(*from, version)
		if len(*from) > len(streams) {
			return nil, errors.New("no more")
		}
		return io.NopCloser(strings.NewReader(streams[len(*from)-1])), nil
	})
	stream, err := w.open("0")
	if err != nil {
		t.Fatal(err)
	}
	go w.run(ctx, stream)
	t.Cleanup(w.Stop)
	return w, from
}

func TestWatchCountsLongLinesOnce(t *testing.T) {
	w, _ := watchOf(t, line(Added, "1", filler)+line(Deleted, "2", 0)+line(Added, "3", filler))
	if err := w.Wait(context.Background(), Added, 2); err != nil {
		t.Fatal(err)
	}
	<-w.ended
	if added, deleted := len(w.Times(Added)), len(w.Times(Deleted)); added != 2 || deleted != 1 {
		t.Errorf("got %d added, %d deleted", added, deleted)
	}
}

func TestWatchResumesWhereAStreamEnded(t *testing.T) {
	w, from := watchOf(t, line(Added, "7", 0), line(Added, "8", 0)+line(Deleted, "9", 0), line(Added, "10", 0))
	if err := w.Wait(context.Background(), Added, 3); err != nil {
		t.Fatal(err)
	}
	<-w.ended
	if want := []string{"0", "7", "9", "10"}; !slices.Equal(*from, want) {
		t.Errorf("resumed from %v, want %v", *from, want)
	}
}

func TestWaitFailsAfterTheWatch(t *testing.T) {
	for name, text := range map[string]string{
		"a stream that ends": line(Added, "1", 0),
		"an error":           `{"type":"ERROR","object":{"code":410}}` + "\n",
		"not an event":       "404 page not found\n",
		"nothing":            "",
	} {
		w, _ := watchOf(t, text)
		if err := w.Wait(context.Background(), Added, 2); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestWaitReportsHowFarItGot(t *testing.T) {
	stream, _ := io.Pipe()
	w := newWatch("0", func() { _ = stream.Close() }, nil)
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	go w.run(ctx, stream)
	defer w.Stop()
	if err := w.Wait(ctx, Added, 1); err == nil || !strings.Contains(err.Error(), "0 of 1") {
		t.Errorf("got %v", err)
	}
}

func TestRate(t *testing.T) {
	at := func(ms int) time.Time { return time.UnixMilli(int64(ms)) }
	if got := rate([]time.Time{at(0), at(10), at(40)}); got != 50 {
		t.Errorf("got %v, want 50: two intervals in 40 ms", got)
	}
	if got := rate([]time.Time{at(0)}); got != 0 {
		t.Errorf("for one event: got %v", got)
	}
}
