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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/test/internal/record"
)

// Watch records when the snapshots of a namespace are created, changed and deleted. It receives metadata only,
// so that it takes next to no CPU from what is measured.
type Watch struct {
	// Stop ends the watch.
	Stop context.CancelFunc

	mu    sync.Mutex
	err   error
	times map[watch.EventType][]time.Time
}

// WatchSnapshots starts a watch, which must be stopped.
func (s *Server) WatchSnapshots(ctx context.Context, namespace string) (*Watch, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(snapshotv1.SchemeGroupVersion.WithKind("VolumeSnapshotList"))
	ctx, stop := context.WithCancel(ctx)
	w := &Watch{Stop: stop, times: map[watch.EventType][]time.Time{}}
	ended, err := record.Follow(ctx, s.Client, list, func(event watch.EventType, _ client.Object) {
		at := time.Now()
		w.mu.Lock()
		defer w.mu.Unlock()
		w.times[event] = append(w.times[event], at)
	}, client.InNamespace(namespace))
	if err != nil {
		stop()
		return nil, err
	}
	go func() {
		err := errors.Join(errors.New("the watch has ended"), ended())
		w.mu.Lock()
		defer w.mu.Unlock()
		w.err = err
	}()
	return w, nil
}

// Wait waits until n events of a type were received.
func (w *Watch) Wait(ctx context.Context, event watch.EventType, n int) error {
	have := 0
	err := poll(ctx, 5*time.Millisecond, func() (bool, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		have = len(w.times[event])
		return have >= n, w.err
	})
	if err != nil {
		return fmt.Errorf("received %d of %d events %s: %w", have, n, event, err)
	}
	return nil
}

// Times returns when events of a type were received.
func (w *Watch) Times(event watch.EventType) []time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clip(w.times[event])
}

func poll(ctx context.Context, every time.Duration, done func() (bool, error)) error {
	err := wait.PollUntilContextCancel(ctx, every, true, func(context.Context) (bool, error) { return done() })
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}
