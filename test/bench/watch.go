// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/test/internal/record"
)

// watcher records when the snapshots of a namespace are created, changed and deleted. It receives metadata only,
// so that it takes next to no CPU from what is measured.
type watcher struct {
	mu    sync.Mutex
	err   error
	times map[watch.EventType][]time.Time
}

// watchSnapshots starts a watch, which must be stopped.
func (s *server) watchSnapshots(ctx context.Context, namespace string) (w *watcher, stop context.CancelFunc) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(snapshotv1.SchemeGroupVersion.WithKind("VolumeSnapshotList"))
	ctx, stop = context.WithCancel(ctx)
	w = &watcher{times: map[watch.EventType][]time.Time{}}
	ended := value(record.Follow(ctx, s.client, list, func(event watch.EventType, _ client.Object) {
		at := time.Now()
		w.mu.Lock()
		defer w.mu.Unlock()
		w.times[event] = append(w.times[event], at)
	}, client.InNamespace(namespace)))
	go func() {
		err := errors.Join(errors.New("the watch has ended"), ended())
		w.mu.Lock()
		defer w.mu.Unlock()
		w.err = err
	}()
	return w, stop
}

// wait waits until n events of a type were received, and returns when.
func (w *watcher) wait(ctx context.Context, event watch.EventType, n int) (times []time.Time) {
	err := poll(ctx, 5*time.Millisecond, func() (bool, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		times = slices.Clip(w.times[event])
		return len(times) >= n, w.err
	})
	if err != nil {
		must(fmt.Errorf("received %d of %d events %s: %w", len(times), n, event, err))
	}
	return times
}
