// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/test/internal/record"
)

// Watch records when the snapshots of some namespaces are created, changed and deleted. It receives metadata only,
// so that it takes next to no CPU from what is measured.
type Watch struct {
	stop  context.CancelFunc
	ended chan struct{}

	mu    sync.Mutex
	err   error
	times map[watch.EventType][]time.Time
	more  chan struct{}
}

// WatchSnapshots starts a watch, which must be stopped.
func (s *Server) WatchSnapshots(ctx context.Context, namespaces ...string) (*Watch, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(snapshotv1.SchemeGroupVersion.WithKind("VolumeSnapshotList"))
	return newWatch(ctx, s.Client, list, namespaces)
}

func newWatch(ctx context.Context, c client.WithWatch, list client.ObjectList, namespaces []string) (*Watch, error) {
	ctx, stop := context.WithCancel(ctx)
	w := &Watch{stop: stop, ended: make(chan struct{}), times: map[watch.EventType][]time.Time{}, more: make(chan struct{})}
	all, ctx := errgroup.WithContext(ctx)
	for _, namespace := range namespaces {
		wait, err := record.Follow(ctx, c, list, func(event watch.EventType, _ client.Object) {
			at := time.Now()
			w.update(func() { w.times[event] = append(w.times[event], at) })
		}, client.InNamespace(namespace))
		if err != nil {
			stop()
			return nil, err
		}
		all.Go(wait)
	}
	go func() {
		defer close(w.ended)
		err := all.Wait()
		w.update(func() { w.err = errors.Join(errors.New("the watch has ended"), err) })
	}()
	return w, nil
}

func (w *Watch) update(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
	close(w.more)
	w.more = make(chan struct{})
}

// Wait waits until n events of a type were received.
func (w *Watch) Wait(ctx context.Context, event watch.EventType, n int) error {
	for {
		w.mu.Lock()
		have, err, more := len(w.times[event]), w.err, w.more
		w.mu.Unlock()
		switch {
		case have >= n:
			return nil
		case err != nil:
			return fmt.Errorf("received %d of %d events %s: %w", have, n, event, err)
		}
		select {
		case <-more:
		case <-ctx.Done():
			return fmt.Errorf("received %d of %d events %s: %w", have, n, event, context.Cause(ctx))
		}
	}
}

// Times returns when events of a type were received.
func (w *Watch) Times(event watch.EventType) []time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clip(w.times[event])
}

// Rate returns the events of a type per second, from the first to the last.
func (w *Watch) Rate(event watch.EventType) float64 {
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
