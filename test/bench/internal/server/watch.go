// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"sync"
	"time"
)

// Event is the type of a watch event.
type Event string

// The types of events that a watch counts.
const (
	Added    Event = "ADDED"
	Modified Event = "MODIFIED"
	Deleted  Event = "DELETED"
)

// Watch records when the snapshots of a namespace are created, changed and deleted. It reads the stream line
// by line and decodes nothing, so that it takes next to no CPU from what is measured.
type Watch struct {
	// open opens the stream of events after a resource version.
	open    func(version string) (io.ReadCloser, error)
	version string
	stop    context.CancelFunc
	ended   chan struct{}

	mu   sync.Mutex
	err  error
	seen map[Event][]time.Time
	more chan struct{}
}

const snapshotsPath = "/apis/snapshot.storage.k8s.io/v1/namespaces/%s/volumesnapshots?"

// WatchSnapshots starts a watch, which must be stopped.
func (s *Server) WatchSnapshots(ctx context.Context, namespace string) (*Watch, error) {
	path := fmt.Sprintf(snapshotsPath, url.PathEscape(namespace))
	version, err := s.version(ctx, path)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	w := newWatch(version, stop, func(version string) (io.ReadCloser, error) {
		return s.get(ctx, path+"watch=1&resourceVersion="+url.QueryEscape(version))
	})
	stream, err := w.open(version)
	if err != nil {
		stop()
		return nil, err
	}
	go w.run(ctx, stream)
	return w, nil
}

func newWatch(version string, stop context.CancelFunc, open func(string) (io.ReadCloser, error)) *Watch {
	return &Watch{
		version: version, stop: stop, open: open, ended: make(chan struct{}),
		seen: map[Event][]time.Time{}, more: make(chan struct{}),
	}
}

func (s *Server) version(ctx context.Context, path string) (string, error) {
	stream, err := s.get(ctx, path+"limit=1")
	if err != nil {
		return "", err
	}
	defer stream.Close()
	var list struct {
		Metadata struct{ ResourceVersion string }
	}
	err = json.NewDecoder(stream).Decode(&list)
	return list.Metadata.ResourceVersion, err
}

// get opens the answer to a GET request. It retries while the API server fills its cache of a kind.
func (s *Server) get(ctx context.Context, path string) (io.ReadCloser, error) {
	return s.rest.Get().RequestURI(path).SetHeader("Accept", "application/json").Stream(ctx)
}

// run reads the stream and opens it again when it ends: the API server drops watchers that are slow for a
// moment.
func (w *Watch) run(ctx context.Context, stream io.ReadCloser) {
	defer close(w.ended)
	for {
		before := w.version
		err := w.read(stream)
		_ = stream.Close()
		if ctx.Err() != nil || w.version == before || !errors.Is(err, errStreamEnd) {
			w.fail(err)
			return
		}
		if stream, err = w.open(w.version); err != nil {
			w.fail(err)
			return
		}
	}
}

var errStreamEnd = errors.New("the stream ended")

func (w *Watch) read(stream io.Reader) error {
	lines := bufio.NewReaderSize(stream, 1<<18)
	start := true
	for {
		part, long, err := lines.ReadLine()
		if err != nil {
			return fmt.Errorf("%w: %w", errStreamEnd, err)
		}
		if start {
			if err := w.count(eventOf(part), time.Now()); err != nil {
				return err
			}
			w.version = versionOf(part)
		}
		start = !long
	}
}

// versionOf returns the resource version of the object, which is near the start of the line.
func versionOf(line []byte) string {
	_, rest, _ := bytes.Cut(line, []byte(`"resourceVersion":"`))
	version, _, _ := bytes.Cut(rest, []byte(`"`))
	return string(version)
}

// eventOf returns the type, with which every line starts.
func eventOf(line []byte) Event {
	rest, ok := bytes.CutPrefix(line, []byte(`{"type":"`))
	if !ok {
		return ""
	}
	event, _, _ := bytes.Cut(rest, []byte(`"`))
	return Event(event)
}

func (w *Watch) count(event Event, at time.Time) error {
	if event != Added && event != Modified && event != Deleted {
		return fmt.Errorf("the watch received %q: it can't be resumed, run the benchmark again", event)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen[event] = append(w.seen[event], at)
	close(w.more)
	w.more = make(chan struct{})
	return nil
}

func (w *Watch) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.err = err
	close(w.more)
	w.more = make(chan struct{})
}

// Wait waits until n events of a type were received.
func (w *Watch) Wait(ctx context.Context, event Event, n int) error {
	for {
		w.mu.Lock()
		have, err, more := len(w.seen[event]), w.err, w.more
		w.mu.Unlock()
		switch {
		case have >= n:
			return nil
		case err != nil:
			return fmt.Errorf("the watch ended after %d of %d events %s: %w", have, n, event, err)
		}
		select {
		case <-more:
		case <-ctx.Done():
			return fmt.Errorf("received %d of %d events %s: %w", have, n, event, context.Cause(ctx))
		}
	}
}

// Times returns when events of a type were received.
func (w *Watch) Times(event Event) []time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clip(w.seen[event])
}

// Rate returns the events of a type per second, from the first to the last.
func (w *Watch) Rate(event Event) float64 {
	return rate(w.Times(event))
}

func rate(times []time.Time) float64 {
	if len(times) < 2 {
		return 0
	}
	return float64(len(times)-1) / times[len(times)-1].Sub(times[0]).Seconds()
}

// Stop ends the watch.
func (w *Watch) Stop() {
	w.stop()
	<-w.ended
}
